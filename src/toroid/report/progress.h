// How far a training run is: one line that is rewritten on a terminal, a line now and then
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace toroid {

struct ProgressState {
  std::int64_t epoch = 0, epochs = 0;  ///< current one (from 1) and all; epochs = 0: not counted
  std::int64_t step = 0, steps = 0;    ///< done and all
  double loss = 0;
  double top1 = 0;  ///< a fraction
  double images_per_s = 0;
};

/// "1:05:09", "02:31"; "--:--" for a negative number (not known).
std::string format_duration(double seconds);

/// The line for a terminal of `width` columns, at most width - 1 long. The bar takes the room that
/// is left; where there is too little, it goes first, then images/s, top-1, the time left, the
/// loss.
std::string format_progress_bar(const ProgressState& state, double seconds_left, int width);

/// The line for a log file.
std::string format_progress_line(const ProgressState& state, double seconds_left);

/// Shows progress on standard error.
class Progress {
 public:
  /// On a terminal (and TERM is not "dumb") or not, as standard error is.
  Progress();
  explicit Progress(bool terminal) : terminal_(terminal) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Leaves the last line standing.
  ~Progress();

  /// Call it as often as wished: it draws ten times a second, or writes a line each ten seconds;
  /// the first and the last step always. The time left is judged by the steps since the first call.
  void update(const ProgressState& state);
  /// Takes the line off the terminal, so that a message can be written; update() draws it again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool terminal_;
  bool shown_ = false;  // a line stands on the terminal, without newline
  std::int64_t first_step_ = -1;
  Clock::time_point start_, last_;
};

}  // namespace toroid
