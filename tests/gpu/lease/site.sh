# . site.sh ARCHIVE: a machine with torch but without network and SGLang gets both from one archive, unpacked into $SITE.
# The archive holds the unpacked wheels of SGLang and what it needs beside torch (about 38 MB as .tar.xz; of the kernels' wheel
# only the operators of the card's architecture). IPython is imported and never used, so an empty one does.
SITE=${SITE:-${TMPDIR:-/tmp}/site}
if [ ! -f "$SITE/.complete" ]; then # a second command of one lease finds it
    mkdir -p "$SITE/IPython" && tar xJf "$1" -C "$SITE"
    printf 'def get_ipython(): return None\n' >"$SITE/IPython/__init__.py"
    printf 'HTML=Image=object\ndef display(*a,**k): pass\ndef clear_output(*a,**k): pass\n' >"$SITE/IPython/display.py"
    python3 -m compileall -q -j 0 "$SITE" >/dev/null 2>&1 # all cores at once instead of every server in turn
    touch "$SITE/.complete"
fi
export SITE PYTHONPATH="$SITE" HF_HUB_OFFLINE=1
