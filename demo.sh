#!/usr/bin/env bash
# From nothing to a trained network: installs, builds, and trains a small residual network on
# Fashion-MNIST (70,000 pictures of clothes, 28x28, from the Debian package).
#
#   ./demo.sh            what is already there (packages, build, data, run) is kept
#   ./demo.sh --fresh    prepares the data and trains again
#
# Everything goes to demo-run/.
set -euo pipefail
cd "$(dirname "$0")"

fresh=no
case ${1:-} in
  "") ;;
  --fresh) fresh=yes ;;
  -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  *) echo "demo.sh: unknown argument '$1' (--fresh)" >&2; exit 2 ;;
esac

die() {
  echo "demo.sh: $*" >&2
  exit 1
}
section() { printf '\n== %s\n' "$*"; }
show() {
  local word
  printf '$'
  for word; do
    [[ $word =~ ^[A-Za-z0-9_./=,:-]+$ ]] && printf ' %s' "$word" || printf " '%s'" "$word"
  done
  printf '\n'
}
# Shows a command, then runs it.
run() {
  show "$@"
  "$@"
}

toroid=build/release/toroid
data=demo-run/data
pictures=demo-run/pictures
[[ $fresh == no ]] || rm -rf demo-run

section "Packages and build"
tools/install_packages.sh build demo || die "packages are missing (see above)"
mkdir -p build demo-run
if ! { cmake --preset release && cmake --build --preset release --target toroid; } \
  >build/demo-build.log 2>&1; then
  tail -n 40 build/demo-build.log >&2
  die "the build failed; all of its output: build/demo-build.log"
fi
"$toroid" --version

section "Data: IDX files to TFRecord shards"
if [[ -d $data ]]; then
  echo "$data is there already"
else
  source=$(dpkg -L dataset-fashion-mnist | sed -n 's|/train-images-idx3-ubyte\.gz$||p')
  [[ -n $source ]] || die "the package dataset-fashion-mnist lists no train-images-idx3-ubyte.gz"
  # Under another name until complete, so that an interrupted demo prepares again.
  rm -rf "$data.partial"
  run "$toroid" prepare idx "$source"/{train,t10k}-{images-idx3,labels-idx1}-ubyte.gz \
    "$data.partial" --split-name train --split-name validation --class-names \
    T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,"Ankle boot"
  mv "$data.partial" "$data"
fi
run "$toroid" data ls "$data"

section "Training"
run "$toroid" train recipes/fashion-mnist.toml --out demo-run/run

section "Accuracy on the 10,000 test pictures"
run "$toroid" eval demo-run/run

section "Predictions"
if [[ ! -d $pictures ]]; then
  rm -rf "$pictures.partial"
  run "$toroid" data show "$data/validation-*.tfrecord" --count 8 --save "$pictures.partial"
  mv "$pictures.partial" "$pictures"
fi
run "$toroid" predict demo-run/run "$pictures"/*.png

section "Where things are"
cat <<END
  $data/            TFRecord shards and dataset.json
  $pictures/        the pictures above
  demo-run/run/             the run: recipe.toml, metrics.jsonl, summary.json, checkpoints,
                            events for TensorBoard (tensorboard --logdir demo-run/run)
  recipes/fashion-mnist.toml  the recipe; change it, or override a key:
    $toroid train recipes/fashion-mnist.toml --set train.epochs=2 --out demo-run/mine
END
