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

# build PRESET CMAKE_ARGUMENTS...
build() {
  cmake --preset "$@" && cmake --build --preset "$1"
}

# run_ctest NAME PRESET ARGUMENTS...   JUnit output beside the log, for the summary.
run_ctest() {
  local name=$1 preset=$2
  shift 2
  ctest --preset "$preset" --output-junit "$results/$name.xml" --no-tests=error \
    --test-output-size-passed 10000000 --test-output-size-failed 10000000 "$@"
}

# python_environment TIER   build/venv-TIER with the packages of tests/TIER/requirements.txt, which
# names all that is needed, so that pip adds nothing of its own.
python_environment() {
  local requirements=tests/$1/requirements.txt environment=build/venv-$1
  cmp -s "$requirements" "$environment/requirements.txt" && return 0
  rm -rf "$environment"
  python3 -m venv "$environment" &&
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
      -r "$requirements" &&
    cp "$requirements" "$environment/requirements.txt" && return 0
  echo "could not install the packages of $requirements from PyPI: is the network reachable?"
  return 1
}

stage step "install packages" tools/install_packages.sh build test demo
if [[ $xla == yes ]]; then
  stage step "fetch the PJRT plugin" tools/fetch_pjrt.sh
else
  echo "xla: not fetched (--without-xla); its tests run only if it is there already"
fi

stage check "include direction" tools/check_includes.py
stage check "format" tools/check_format.sh
mapfile -t scripts < <(git ls-files '*.sh' .ci/run 2>/dev/null)
stage check "shellcheck" shellcheck "${scripts[@]:-test.sh}"

# The readers' tests are part of the build when there is an interpreter with their packages.
readers_python=
if [[ $quick == no ]] && stage step "install readers" python_environment readers; then
  readers_python=$PWD/build/venv-readers/bin/python
fi

if stage step "build release" build release -DTOROID_PYTHON="$readers_python"; then
  stage check "clang-tidy" tools/check_tidy.sh
  stage tests "unit tests" run_ctest "unit tests" release -LE 'end_to_end|readers' -j "$(nproc)"
  if [[ $quick == no ]]; then
    stage tests "end-to-end tests" run_ctest "end-to-end tests" release -L end_to_end
    if [[ -n $readers_python ]]; then
      stage tests "readers" run_ctest "readers" release -L readers
    else
      skip "readers" "their packages could not be installed"
    fi
  fi
  if [[ $peers == no ]]; then
    [[ $quick == yes ]] || skip "peers" "large packages; ./test.sh --peers"
  elif stage step "install peers" python_environment peers; then
    stage tests "peers" build/venv-peers/bin/python -m unittest discover -v -s tests/peers \
      -p '*_test.py'
  else
    skip "peers" "their packages could not be installed"
  fi
else
  skip "all tests of the release build" "the build failed"
fi
if [[ $quick == yes ]]; then
  echo "--quick: no end-to-end tests, no readers, no sanitizers"
elif stage step "build sanitize" build sanitize; then
  stage tests "unit tests, sanitized" run_ctest "unit tests, sanitized" sanitize \
    -LE 'end_to_end|readers|tools|mpi' -j "$(nproc)"
else
  skip "sanitized unit tests" "the build failed"
fi

python3 tools/summarize_tests.py "$results"
