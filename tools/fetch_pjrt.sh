#!/usr/bin/env bash
# Installs the PJRT CPU plugin and the C API's header, which the xla backend is built and tested
# with, from PyPI:
#
#   tools/fetch_pjrt.sh [folder]        (default: .deps/pjrt beside this script's folder)
#
# leaves <folder>/include/pjrt_c_api.h and <folder>/xla_cpu_pjrt.so. The package is pinned by its
# hash. Does nothing when both files are there; nothing incomplete ever has the folder's name.
set -euo pipefail

package="xla-cpu-pjrt==0.0.1"
sha256="55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc"

die() {
  echo "fetch_pjrt.sh: $*" >&2
  exit 1
}
complete() { [[ -f "$1/include/pjrt_c_api.h" && -f "$1/xla_cpu_pjrt.so" ]]; }

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target="${1:-$root/.deps/pjrt}"
if complete "$target"; then
  echo "fetch_pjrt.sh: $target is complete"
  exit 0
fi
[[ "$(uname -s)-$(uname -m)" == Linux-x86_64 ]] ||
  die "$package is built for Linux on x86_64 only, this is $(uname -s) on $(uname -m)"
command -v python3 >/dev/null || die "python3 is not installed"

mkdir -p "$(dirname "$target")" || die "cannot create the folder of $target"
work="$(mktemp -d "$(dirname "$target")/.fetch_pjrt.XXXXXX")" ||
  die "cannot write beside $target"
trap 'rm -rf "$work"' EXIT

python=python3
if ! python3 -m pip --version >/dev/null 2>&1; then
  # Debian's python3 has no pip; a virtual environment brings its own.
  python3 -m venv "$work/venv" >/dev/null 2>&1 ||
    die "python3 has neither pip nor venv (on Debian: apt-get install python3-venv)"
  python="$work/venv/bin/python3"
fi

echo "$package --hash=sha256:$sha256" >"$work/requirements.txt"
"$python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
  --only-binary :all: --require-hashes --requirement "$work/requirements.txt" \
  --dest "$work/wheel" ||
  die "pip could not download $package with the pinned hash (its reason is above)"

"$python" - "$work" <<'PYTHON' || die "the package $package does not hold what was expected"
import pathlib, shutil, sys, zipfile

work = pathlib.Path(sys.argv[1])
(wheel,) = (work / "wheel").glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in ("include/pjrt_c_api.h", "xla_cpu_pjrt.so"):
        out = work / "pjrt" / name
        out.parent.mkdir(parents=True, exist_ok=True)
        with archive.open("xla_plugins/xla_cpu_pjrt/" + name) as source, out.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
PYTHON

[[ -e "$target" ]] && rm -rf "$target"
# -T: never into a folder that another run has just put there.
mv -T "$work/pjrt" "$target" 2>/dev/null || complete "$target" || die "cannot create $target"
echo "fetch_pjrt.sh: installed $package in $target (build again)"
