#include "toroid/backends/cpu/storage.h"

#include <algorithm>

namespace toroid::cpu {
namespace {

using Kind = CollectiveRole::Kind;

// When a value is read.
struct Uses {
  struct Flight {
    int start, done;
  };
  int last = 0;                 // node that reads it last; its own when none does
  std::vector<Flight> flights;  // collectives that read it
  int busy_until = 0;           // including flights
};

class Assigner {
 public:
  Assigner(const Graph& graph, const ReuseRule& reuse) : graph_(graph), reuse_(reuse) {
    collect_uses();
    for (int node = 0; node < static_cast<int>(graph.nodes.size()); ++node) assign(node);
  }
  StorageAssignment take() { return std::move(result_); }

 private:
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  Uses& uses(Value value) {
    return uses_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
  }

  void collect_uses() {
    const int size = static_cast<int>(graph_.nodes.size());
    for (int i = 0; i < size; ++i) {
      uses_.emplace_back(node(i).types.size(), Uses{i, {}, i});
      for (const Value value : node(i).inputs) {
        uses(value).last = std::max(uses(value).last, i);
        uses(value).busy_until = std::max(uses(value).busy_until, i);
      }
      if (node(i).op.collective().kind != Kind::kDone) continue;
      const int start = node(i).inputs.at(0).node;
      for (const Value value : node(start).inputs) {
        uses(value).flights.push_back({start, i});
        uses(value).busy_until = std::max(uses(value).busy_until, i);
      }
    }
    for (const auto* bindings : {&graph_.updates, &graph_.outputs}) {
      for (const Binding& binding : *bindings) {
        uses(binding.value).last = size;
        uses(binding.value).busy_until = size;
      }
    }
  }

  void assign(int index) {
    result_.of_node.emplace_back();
    const bool input = node(index).op.as<Input>() != nullptr;
    for (std::size_t output = 0; output < node(index).types.size(); ++output) {
      int storage = input ? -1 : reused(index, output);
      if (storage < 0) {
        storage = static_cast<int>(result_.storages.size());
        result_.storages.push_back({input ? index : -1,
                                    {index, static_cast<int>(output)},
                                    {node(index).types[output].bytes(), index, index}});
        values_.emplace_back();
      }
      const Value value{index, static_cast<int>(output)};
      auto& lifetime = result_.storages[static_cast<std::size_t>(storage)].lifetime;
      lifetime.last = std::max(lifetime.last, uses(value).busy_until);
      values_[static_cast<std::size_t>(storage)].push_back(value);
      result_.of_node.back().push_back(storage);
    }
  }

  // The storage of an operand that the output may use, or -1.
  int reused(int index, std::size_t output) {
    const std::vector<Value>& inputs = node(index).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Reuse rule = reuse_(index, i, output);
      const int storage = result_.of(inputs[i]);
      if (rule == Reuse::kSame) return storage;
      if (rule == Reuse::kOverwrite && may_overwrite(storage, index, output)) return storage;
    }
    return -1;
  }

  bool may_overwrite(int storage, int index, std::size_t output) {
    const Storage& buffer = result_.storages[static_cast<std::size_t>(storage)];
    if (buffer.external() || buffer.lifetime.bytes != node(index).types[output].bytes()) {
      return false;
    }
    for (const Value value : values_[static_cast<std::size_t>(storage)]) {
      if (value.node == index || uses(value).last > index) return false;
      for (const Uses::Flight& flight : uses(value).flights) {
        if (flight.start != index && flight.done > index) return false;
      }
    }
    // The operand may come a second time, in a place where it must not change.
    const std::vector<Value>& inputs = node(index).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (result_.of(inputs[i]) == storage && reuse_(index, i, output) != Reuse::kOverwrite) {
        return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const ReuseRule& reuse_;
  std::vector<std::vector<Uses>> uses_;     // by node and output
  std::vector<std::vector<Value>> values_;  // by storage
  StorageAssignment result_;
};

}  // namespace

StorageAssignment assign_storage(const Graph& graph, const ReuseRule& reuse) {
  return Assigner(graph, reuse).take();
}

}  // namespace toroid::cpu
