#!/usr/bin/env bash
# Installs what the tests need, builds, and runs everything.
#
#   ./test.sh                 style, unit tests (also with sanitizers), end to end, real readers
#   ./test.sh --peers         also against other frameworks (large packages from PyPI)
#   ./test.sh --quick         style and the release build's unit tests only
#   ./test.sh --without-xla   do not fetch the PJRT plugin; tests that need it are skipped
#
# A failure does not stop the rest; the summary at the end says what ran, what was skipped and why,
# and the exit status is 1 if anything failed. Logs: build/test-results/.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

peers=no quick=no xla=yes
for argument in "$@"; do
  case $argument in
    --peers) peers=yes ;;
    --quick) quick=yes ;;
    --without-xla) xla=no ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "test.sh: unknown argument '$argument' (--peers, --quick, --without-xla)" >&2; exit 2 ;;
  esac
done

results=$PWD/build/test-results
rm -rf "$results"
mkdir -p "$results" || exit 1
: >"$results/stages.tsv"

# stage KIND NAME COMMAND...   KIND: step (install, build), check (counts as one test), tests.
# Runs the command with its output in NAME.log, shown when it fails; returns its success.
stage() {
  local kind=$1 name=$2 start=$SECONDS status=ok
  shift 2
  printf '%-28s ' "$name"
  "$@" >"$results/$name.log" 2>&1 </dev/null || status=failed
  printf '%s (%d s)\n' "$status" $((SECONDS - start))
  printf '%s\t%s\t%s\t%d\t\n' "$kind" "$name" "$status" $((SECONDS - start)) >>"$results/stages.tsv"
  [[ $status == ok ]] && return 0
  # Without the compiler's progress lines.
  sed -E '/^\[[0-9]+\/[0-9]+\] (Building|Linking|Generating) /d' "$results/$name.log" |
    tail -n 60 | sed 's/^/    | /'
  echo "    (all of it: build/test-results/$name.log)"
  return 1
}

# skip NAME REASON
skip() {
  printf '%-28s skipped: %s\n' "$1" "$2"
  printf 'tests\t%s\tskipped\t0\t%s\n' "$1" "$2" >>"$results/stages.tsv"
}

build() {
  cmake --preset "$1" && cmake --build --preset "$1"
}

# run_ctest NAME PRESET ARGUMENTS...   JUnit output beside the log, for the summary.
run_ctest() {
  local name=$1 preset=$2
  shift 2
  ctest --preset "$preset" --output-junit "$results/$name.xml" --no-tests=error \
    --test-output-size-passed 10000000 --test-output-size-failed 10000000 "$@"
}

# python_environment FOLDER REQUIREMENTS   A virtual environment with the pinned packages, which are
# all that is needed: what they ask for beyond the list does not come in.
python_environment() {
  local folder=$1 requirements=$2
  cmp -s "$requirements" "$folder/requirements.txt" && return 0
  rm -rf "$folder"
  python3 -m venv "$folder" &&
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
      -r "$requirements" &&
    cp "$requirements" "$folder/requirements.txt" && return 0
  echo "could not install $requirements from PyPI: is the network reachable?"
  return 1
}

# python_tests NAME FOLDER   tests/FOLDER/*_test.py in a virtual environment of their own.
python_tests() {
  local name=$1 folder=tests/$2 environment=$PWD/build/venv-$2
  if [[ ! -f $folder/requirements.txt ]]; then
    skip "$name" "there is no $folder"
    return
  fi
  stage step "install $name" python_environment "$environment" "$folder/requirements.txt" &&
    stage tests "$name" "$environment/bin/python" -m unittest discover -v \
      -s "$folder" -p '*_test.py'
}

stage step "install packages" tools/install_packages.sh build test
if [[ $xla == yes ]]; then
  stage step "fetch the PJRT plugin" tools/fetch_pjrt.sh
else
  echo "xla: not fetched (--without-xla); its tests run only if it is there already"
fi

stage check "include direction" tools/check_includes.py
stage check "format" tools/check_format.sh
mapfile -t scripts < <(git ls-files '*.sh' .ci/run 2>/dev/null)
stage check "shellcheck" shellcheck "${scripts[@]:-test.sh}"

if stage step "build release" build release; then
  stage check "clang-tidy" tools/check_tidy.sh
  stage tests "unit tests" run_ctest "unit tests" release -LE end_to_end -j "$(nproc)"
  if [[ $quick == no ]]; then
    stage tests "end-to-end tests" run_ctest "end-to-end tests" release -L end_to_end
    python_tests "readers" readers
    [[ $peers == no ]] || python_tests "peers" peers
  fi
else
  skip "all tests of the release build" "the build failed"
fi
if [[ $quick == yes ]]; then
  echo "--quick: no end-to-end tests, no readers, no sanitizers"
elif stage step "build sanitize" build sanitize; then
  stage tests "unit tests, sanitized" run_ctest "unit tests, sanitized" sanitize \
    -LE 'end_to_end|tools|mpi' -j "$(nproc)"
else
  skip "sanitized unit tests" "the build failed"
fi

python3 tools/summarize_tests.py "$results"
