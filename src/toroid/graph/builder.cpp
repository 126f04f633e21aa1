#include "toroid/graph/builder.h"

#include <fmt/format.h>

#include "toroid/base/error.h"

namespace toroid {

Builder::Scope::Scope(Builder& builder, std::string_view name)
    : builder_(builder), length_(builder.scope_.size()) {
  builder_.scope_ += name;
  builder_.scope_ += '/';
}

std::string Builder::unique_path(std::string path) {
  std::string candidate = path;
  for (int i = 2; !paths_.insert(candidate).second; ++i) candidate = fmt::format("{}_{}", path, i);
  return candidate;
}

std::vector<Value> Builder::add_all(Op op, std::vector<Value> inputs) {
  std::vector<TensorType> operand_types;
  std::vector<std::string> printed;
  for (const Value value : inputs) {
    if (!value) fail("{}{}: an operand of {} has no value", scope_, op.label(), op.label());
    operand_types.push_back(type(value));
    printed.push_back(type(value).str());
  }
  std::vector<TensorType> types;
  try {
    types = op.infer(operand_types);
  } catch (const Error& error) {
    fail("{}{}({}): {}", scope_, op.label(), fmt::join(printed, ", "), error.what());
  }
  const int index = static_cast<int>(graph_.nodes.size());
  std::vector<Value> outputs;
  for (std::size_t i = 0; i < types.size(); ++i) outputs.push_back({index, static_cast<int>(i)});
  std::string path = unique_path(scope_ + std::string(op.label()));
  graph_.nodes.push_back({std::move(op), std::move(path), std::move(inputs), std::move(types)});
  return outputs;
}

Value Builder::add(Op op, std::vector<Value> inputs) {
  return add_all(std::move(op), std::move(inputs)).at(0);
}

Value Builder::input(InputKind kind, const std::string& name, const TensorType& type) {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto* known = graph_.nodes[i].op.as<Input>();
    if (known == nullptr || known->kind != kind || known->name != name) continue;
    if (known->type != type) {
      fail("input {} is used as {} and as {}", name, known->type.str(), type.str());
    }
    return {static_cast<int>(i), 0};
  }
  const Op op = Input{.kind = kind, .name = name, .type = type};
  graph_.nodes.push_back({op, unique_path(name), {}, {type}});
  return {static_cast<int>(graph_.nodes.size()) - 1, 0};
}

Graph Builder::finish() {
  verify(graph_);
  return std::move(graph_);
}

}  // namespace toroid
