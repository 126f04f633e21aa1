#include "toroid/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "toroid/base/log.h"

namespace toroid {
namespace {

constexpr int kLongestBar = 30, kShortestBar = 8;
constexpr std::chrono::milliseconds kDrawInterval{100};
constexpr std::chrono::seconds kLineInterval{10};
constexpr std::string_view kEraseToEnd = "\x1b[K";

std::string epoch_text(const ProgressState& state) {
  return state.epochs > 0 ? fmt::format("epoch {}/{}", state.epoch, state.epochs) : "";
}

std::string bar(const ProgressState& state, int length) {
  const double fraction =
      state.steps > 0 ? std::clamp(double(state.step) / double(state.steps), 0.0, 1.0) : 0.0;
  const auto filled = static_cast<std::size_t>(fraction * length);
  return fmt::format("[{}{}]", std::string(filled, '='),
                     std::string(static_cast<std::size_t>(length) - filled, ' '));
}

std::string joined(const std::vector<std::string>& parts) {
  std::string result;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!result.empty()) result += "  ";
    result += part;
  }
  return result;
}

int terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool standard_error_is_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string format_duration(double seconds) {
  constexpr double kLongest = 1000 * 3600.0;
  if (!(seconds >= 0 && seconds < kLongest)) return "--:--";
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t hours = total / 3600, minutes = total / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{:02}:{:02}", minutes, total % 60);
}

std::string format_progress_bar(const ProgressState& state, double seconds_left, int width) {
  const auto room = static_cast<std::size_t>(std::max(width - 1, 0));
  // epoch, bar, step, loss, top-1, images/s, time left
  std::vector<std::string> parts = {epoch_text(state),
                                    "",
                                    fmt::format("{}/{}", state.step, state.steps),
                                    fmt::format("loss {:.4f}", state.loss),
                                    fmt::format("top1 {:.3f}", state.top1),
                                    fmt::format("{:.0f} images/s", state.images_per_s),
                                    fmt::format("ETA {}", format_duration(seconds_left))};
  const std::size_t used = joined(parts).size() + 4;  // with brackets and two spaces
  if (used + kShortestBar <= room) {
    parts[1] = bar(state, std::min(kLongestBar, static_cast<int>(room - used)));
    return joined(parts);
  }
  for (const std::size_t part : {5, 4, 6, 3}) {
    if (joined(parts).size() <= room) break;
    parts[part].clear();
  }
  return joined(parts).substr(0, room);
}

std::string format_progress_line(const ProgressState& state, double seconds_left) {
  return joined({epoch_text(state), fmt::format("step {}/{}", state.step, state.steps),
                 fmt::format("loss {:.4f}", state.loss), fmt::format("top1 {:.3f}", state.top1),
                 fmt::format("{:.0f} images/s", state.images_per_s),
                 fmt::format("ETA {}", format_duration(seconds_left))});
}

Progress::Progress() : Progress(standard_error_is_terminal()) {}

Progress::~Progress() {
  if (shown_) put("\n");
}

void Progress::update(const ProgressState& state) {
  const auto now = Clock::now();
  const bool first = first_step_ < 0;
  if (first) {
    first_step_ = state.step;
    start_ = now;
  }
  const auto interval = terminal_ ? Clock::duration(kDrawInterval) : Clock::duration(kLineInterval);
  if (!first && state.step < state.steps && now - last_ < interval) return;
  last_ = now;
  const double done = double(state.step - first_step_), left = double(state.steps - state.step);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double seconds_left = left <= 0 ? 0 : done > 0 ? elapsed / done * left : -1;
  if (!terminal_) {
    log::info("{}", format_progress_line(state, seconds_left));
    return;
  }
  put(fmt::format("\r{}{}", format_progress_bar(state, seconds_left, terminal_width()),
                  kEraseToEnd));
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  put(fmt::format("\r{}", kEraseToEnd));
  shown_ = false;
  last_ = {};
}

}  // namespace toroid
