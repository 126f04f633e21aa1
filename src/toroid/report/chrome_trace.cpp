#include "toroid/report/chrome_trace.h"

#include <nlohmann/json.hpp>

#include "toroid/base/file.h"

namespace toroid {

void write_chrome_trace(const std::filesystem::path& path, const std::vector<TraceEvent>& events) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TraceEvent& event : events) {
    list.push_back({{"name", event.name},
                    {"cat", event.category},
                    {"ph", "X"},
                    {"ts", event.start_us},
                    {"dur", event.duration_us},
                    {"pid", 0},
                    {"tid", event.lane},
                    {"args", {{"detail", event.detail}}}});
  }
  const nlohmann::ordered_json document{{"traceEvents", std::move(list)},
                                        {"displayTimeUnit", "ms"}};
  write_file(path, document.dump() + "\n");
}

}  // namespace toroid
