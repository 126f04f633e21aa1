#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy; prints what it finds, exit status 1 if anything.
#
#   tools/check_tidy.sh            every source of the release build
#   tools/check_tidy.sh FILE...    these only
#
# It needs build/release (cmake --preset release; generated headers must have been built).
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
  echo "check_tidy.sh: $*" >&2
  exit 1
}
database=build/release/compile_commands.json
command -v clang-tidy >/dev/null || die "no clang-tidy; run tools/install_packages.sh test"
[[ -f $database ]] || die "no $database; run cmake --preset release && cmake --build --preset release"

if (($#)); then
  files=("$@")
else
  # Our own sources that are part of the build: no generated files, none of a left-out backend.
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$database" |
    grep -E "^$PWD/(src|tests|bench)/" | sort -u)
  ((${#files[@]})) || die "$database lists no sources of this folder; configure again"
fi

# The database has GCC's flags: clang does not know all of them, which is fine.
check() {
  printf '%s\0' "${files[@]}" |
    xargs -0 -P "$(nproc)" -n 4 clang-tidy -quiet -p build/release \
      --extra-arg=-Wno-unknown-warning-option 2>&1
}

# A finding in a header comes once for each file that includes it: show it once.
once() {
  awk -v root="$PWD/" '
    BEGIN { show = 1 }
    index($0, root) == 1 { $0 = substr($0, length(root) + 1) }
    /^[0-9]+ warnings?( and [0-9]+ errors?)? generated\.$/ || /^$/ { next }
    /^[^ ]+:[0-9]+:[0-9]+: (error|warning): / { show = !seen[$0]++ }
    show'
}

check | once || die "fix what is above, or mark it NOLINTNEXTLINE(check): reason"
