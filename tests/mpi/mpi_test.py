"""Collectives and the launcher under the machine's own mpirun."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

RANKS = None
SECONDS = 60


def environment(**changes):
    clean = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    return {**clean, **changes}


def launch(workers, *what, grace=10, **changes):
    """Status, standard output and standard error of `workers` ranks, by our launcher."""
    done = subprocess.run(
        [RANKS, "launch", str(workers), str(grace), *what],
        env=environment(**changes), capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr


def mpirun(workers, *command):
    flags = ["--oversubscribe", "--bind-to", "none"]
    if os.geteuid() == 0:
        flags.append("--allow-run-as-root")
    done = subprocess.run(["mpirun", "-n", str(workers), *flags, *command],
                          env=environment(), capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr


class Background:
    """A launched run that is in its steps, to be signalled."""

    def __init__(self, *what, grace=10):
        self.process = subprocess.Popen(
            [RANKS, "launch", "2", str(grace), *what], env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "training"

    def end(self, *signals):
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.5)
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors


def alive():
    """Processes of this test that still run, by their command lines."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except OSError:  # ended meanwhile
            continue
        if RANKS in words and not any(word.endswith("mpi_test.py") for word in words):
            found.append(f"{folder.name}: {' '.join(words)}")
    return found


class Collectives(unittest.TestCase):
    def test_the_contract_holds_on_one_to_four_ranks(self):
        for workers in (1, 2, 3, 4):
            with self.subTest(workers=workers):
                status, out, err = launch(workers, "contract")
                self.assertEqual((status, err), (0, ""))
                self.assertEqual(out, f"contract kept by {workers}\n")

    def test_the_users_own_mpirun_works(self):
        status, out, err = mpirun(2, RANKS, "contract")
        self.assertEqual((status, out, err), (0, "contract kept by 2\n", ""))

    def test_without_a_launcher_the_world_is_one(self):
        done = subprocess.run([RANKS, "contract"], capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stdout), (0, "contract kept by 1\n"))

    def test_ranks_that_differ_are_named(self):
        status, _, err = launch(3, "agree")
        self.assertEqual(status, 1)
        self.assertIn("error: the ranks do not agree on the recipe: rank 1 differs from rank 0", err)

    def test_a_launcher_of_another_mpi_is_an_error(self):
        done = subprocess.run([RANKS, "contract"], env=environment(PMI_RANK="0", PMI_SIZE="4"),
                              capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the launcher started 4 ranks (PMI_RANK), but MPI sees a world of 1",
                      done.stderr)


class Failures(unittest.TestCase):
    def tearDown(self):
        time.sleep(0.2)
        self.assertEqual(alive(), [])

    def test_an_exception_in_one_rank_ends_all_with_its_status(self):
        status, _, err = launch(3, "steps", "throw")
        self.assertEqual((status, err), (2, "rank 1: error: cannot read shard 7\n"))

    def test_an_exception_with_a_request_in_flight_ends_all(self):
        status, _, err = launch(2, "steps", "drops")
        self.assertEqual((status, err), (1, "rank 1: error: dropped\n"))

    def test_a_killed_rank_ends_all_and_is_told(self):
        status, _, err = launch(2, "steps", "killed")
        self.assertEqual(status, 1)
        self.assertIn("error: a worker was killed by signal 9 (Killed)", err)

    def test_a_stopped_rank_is_an_error_after_the_timeout(self):
        status, _, err = launch(2, "steps", "stopped")
        self.assertEqual(status, 1)
        self.assertIn("rank 0: error: all_reduce (4 bytes) on rank 0 did not finish within 3 s: "
                      "one of ranks 0 to 1 is stopped, dead or far behind", err)


class Launcher(unittest.TestCase):
    def tearDown(self):
        time.sleep(0.2)
        self.assertEqual(alive(), [])

    def test_the_status_of_the_ranks_is_kept(self):
        for wanted in (0, 1, 2, 3, 75):
            with self.subTest(status=wanted):
                self.assertEqual(launch(2, "status", str(wanted)), (wanted, "", ""))

    def test_threads_are_divided_unless_the_user_says(self):
        _, out, _ = launch(2, "threads")
        share = max(len(os.sched_getaffinity(0)) // 2, 1)
        self.assertLessEqual(int(out.split()[0].split("=")[1]), share)
        _, out, _ = launch(2, "threads", OMP_NUM_THREADS="3")
        self.assertEqual(out, "OMP_NUM_THREADS=3\n" * 2)

    def test_each_stop_signal_reaches_the_ranks_and_they_save(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            with self.subTest(signal=number):
                status, err = Background("steps", "").end(number)
                self.assertEqual(status, 75)
                self.assertEqual(err, "stopping the workers (once more to end them at once)\n")

    def test_a_second_signal_ends_the_ranks_at_once(self):
        status, err = Background("ignores", grace=50).end(signal.SIGINT, signal.SIGINT)
        self.assertEqual(status, 1)
        self.assertIn("error: the workers were ended before they had saved", err)

    def test_the_grace_time_ends(self):
        status, err = Background("ignores", grace=1).end(signal.SIGTERM)
        self.assertEqual(status, 1)
        self.assertIn("error: the workers did not stop within 1 s and were ended", err)

    def test_a_killed_launcher_takes_the_ranks_with_it(self):
        Background("steps", "").end(signal.SIGKILL)
        deadline = time.monotonic() + 20
        while alive() and time.monotonic() < deadline:
            time.sleep(0.2)

    def test_a_missing_mpirun_names_the_package(self):
        status, _, err = launch(2, "contract", PATH="/nonexistent")
        self.assertEqual(status, 1)
        self.assertEqual(err, "error: mpirun is not installed: --workers needs it "
                              "(Debian: apt install openmpi-bin)\n")

    def test_a_launcher_under_a_launcher_is_a_usage_error(self):
        status, _, err = mpirun(1, RANKS, "launch", "2", "10", "contract")
        self.assertEqual(status, 2)
        self.assertIn("--workers starts mpirun itself, but this process is already a rank of a "
                      "launcher (OMPI_COMM_WORLD_SIZE is set)", err)


if __name__ == "__main__":
    RANKS = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
