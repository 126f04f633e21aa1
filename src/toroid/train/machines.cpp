#include "toroid/train/machines.h"

#include "toroid/base/log.h"
#include "toroid/base/machine_report.h"

namespace toroid {

void announce_machines(Communicator& communicator) {
  std::vector<MachineShare> shares;
  for (const std::string& text : gather_texts(communicator, to_text(machine_share()))) {
    shares.push_back(machine_share_of(text));
  }
  if (communicator.rank() != 0) return;
  log::info("{}", describe_machines(shares));
  for (const std::string& warning : machine_warnings(shares)) log::warning("{}", warning);
}

}  // namespace toroid
