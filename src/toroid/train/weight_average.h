// The moving average of a model's variables, which evaluation and prediction use in their place.
#pragma once

#include <string>
#include <vector>

#include "toroid/graph/builder.h"
#include "toroid/models/variable.h"
#include "toroid/optim/optimizer.h"

namespace toroid {

/// "ema/stem/conv/kernel"
std::string average_name(const std::string& variable);
bool is_average(const std::string& variable);

/// One for each variable of the model, those of batch norm's moving statistics too: these belong to
/// the weights under which they were measured.
std::vector<Variable> average_variables(const std::vector<Variable>& model);

/// The averages' updates, from the model's. At step t (0 in the first),
///   a = a + max(1 - decay, 9 / (10 + t)) (w - a)
/// with the new w: as TensorFlow's ExponentialMovingAverage with num_updates, whose decay is at
/// most (1 + t) / (10 + t), so that the starting values are soon forgotten.
std::vector<VariableUpdate> average_weights(Builder& builder, double decay, Value step,
                                            const std::vector<VariableUpdate>& updates);

/// The graph with each variable's average in the variable's place.
Graph read_averages(Graph graph);

}  // namespace toroid
