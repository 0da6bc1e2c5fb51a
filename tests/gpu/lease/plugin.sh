# . plugin.sh: the plugin of this working tree into $SITE (site.sh), as an installed wheel would be there
rm -rf "$SITE/sglang_ddtree"
cp -rL deploy/runtime/sglang_ddtree/src/sglang_ddtree "$SITE/sglang_ddtree"
info="$SITE/sglang_ddtree-0.1.0.dist-info"
mkdir -p "$info"
printf 'Metadata-Version: 2.1\nName: sglang-ddtree\nVersion: 0.1.0\n' >"$info/METADATA"
printf '[sglang.srt.plugins]\nddtree = sglang_ddtree.runtime.plugin:load\n' >"$info/entry_points.txt"
