# ARCHIVE=site.txz [MODELS=DIR|TAR] [CACHE=cache.txz] OUT=DIR LIMIT=SECONDS bash tests/gpu/lease/proof.sh OPTIONS STAGES...
# Everything of one short lease: unpack, run the stages, pack results, logs and compiled kernels into $OUT whatever happens.
here=$(dirname "$0")
. "$here/site.sh" "$ARCHIVE"
. "$here/plugin.sh"
work=$(mktemp -d)
mkdir -p "$work/models" "$work/results" "$work/logs"
[ -d "${MODELS:-}" ] && cp -r "$MODELS/." "$work/models/"
[ -f "${MODELS:-}" ] && tar xf "$MODELS" -C "$work/models"
[ -f "${CACHE:-}" ] && tar xJf "$CACHE" -C ~ # kernels compiled in an earlier lease
export PYTHONUNBUFFERED=1
nvidia-smi -L
timeout -k 5 "${LIMIT:-500}" python3 -W ignore -m tests.gpu.proof --out "$work/results" --models "$work/models" "$@"
tar czf "$OUT/results.tgz" -C "$work/results" --exclude logs .
for log in "$work"/results/logs/*.log; do [ -f "$log" ] && tail -c 200000 "$log" >"$work/logs/$(basename "$log")"; done
tar cJf "$OUT/logs.txz" -C "$work/logs" .
case " $* " in *" train "* | *" drafter "*) tar cf "$OUT/models.tar" -C "$work/models" . ;; esac
tar cJf "$OUT/cache.txz" -C ~ $(cd ~ && ls -d .triton .cache/flashinfer .cache/tvm-ffi 2>/dev/null)
