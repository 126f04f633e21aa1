// Traces that chrome://tracing and Perfetto show.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace toroid {

/// Something that took time, in microseconds from the trace's start.
struct TraceEvent {
  std::string name;      ///< what the picture shows
  std::string category;  ///< what it can be filtered and coloured by
  double start_us = 0;
  double duration_us = 0;
  int lane = 0;        ///< a row of the picture (a thread)
  std::string detail;  ///< shown when the event is chosen
};

/// Writes the events as complete events ("ph": "X") of the Trace Event Format, at once or not at
/// all; Error when the file cannot be written.
void write_chrome_trace(const std::filesystem::path& path, const std::vector<TraceEvent>& events);

}  // namespace toroid
