#!/usr/bin/env bash
# Checks that the C++ sources are formatted as .clang-format says.
#
#   tools/check_format.sh          prints which files differ; exit status 1 when one does
#   tools/check_format.sh --fix    formats them
set -euo pipefail
cd "$(dirname "$0")/.."

fix=no
case ${1:-} in
  "") ;;
  --fix) fix=yes ;;
  *) echo "usage: tools/check_format.sh [--fix]" >&2; exit 2 ;;
esac
command -v clang-format >/dev/null || {
  echo "check_format.sh: no clang-format; run tools/install_packages.sh test" >&2
  exit 1
}

mapfile -t files < <(find src tests bench -name '*.cpp' -o -name '*.h' | sort)
[[ $fix == no ]] || exec clang-format --style=file -i "${files[@]}"
# One line per file, at its first difference.
clang-format --style=file --dry-run "${files[@]}" 2>&1 |
  awk -F: '/ \[-Wclang-format-violations\]$/ {
             if (!seen[$1]++) print $1 ":" $2 ": not formatted; tools/check_format.sh --fix"; next }
           END { exit length(seen) > 0 }'
