// A graph tracer in miniature: what any framework needs of an op at the boundary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/boundary.hpp>
#include <tenon/tenon.hpp>

namespace toy {

// docs:begin tracer
/// Records calls as nodes, each an instance's key and the numbers of its tensors. While it records,
/// nothing runs: shapes come from the meta call.
class Graph {
 public:
  explicit Graph(tenon::Engine& engine) : engine_(engine) {}

  /// A tensor that the graph is given when it runs.
  int input(const tenon::TensorSpec& spec) {
    specs_.push_back(spec);
    inputs_.push_back(static_cast<int>(specs_.size()) - 1);
    return inputs_.back();
  }

  /// One opaque node. `arguments` in manifest order; -1 where an optional one is absent.
  tenon::Result<std::vector<int>> record(const tenon::Op& op, std::vector<int> arguments) {
    std::vector<std::optional<tenon::TensorSpec>> given;
    for (const int at : arguments)
      given.push_back(at < 0 ? std::nullopt : std::optional(specs_[static_cast<std::size_t>(at)]));
    auto outputs = tenon::meta_by_key(engine_, op.key(), given);
    if (!outputs) return tenon::fail(outputs.error());
    Node node;
    node.instance = op.key();
    node.arguments = std::move(arguments);
    auto schema = tenon::boundary_schema(op.decl(), op.decl().branches.front());
    if (!schema) return tenon::fail(schema.error());
    node.schema = *schema;
    for (const tenon::OutputSpec& o : *outputs) {
      specs_.push_back({o.dtype, o.shape, tenon::dense_strides(o.shape), {}});
      node.results.push_back(static_cast<int>(specs_.size()) - 1);
    }
    nodes_.push_back(node);
    return node.results;
  }

  /// Runs every node by its key. Gives all tensors, inputs first, by number.
  tenon::Result<std::vector<tenon::Tensor>> replay(const std::vector<tenon::Tensor>& inputs) const {
    std::vector<tenon::Tensor> tensors(specs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      tensors[static_cast<std::size_t>(inputs_[i])] = inputs[i];
    for (const Node& node : nodes_) {
      std::vector<const tenon::TensorView*> views;
      for (const int at : node.arguments)
        views.push_back(at < 0 ? nullptr : &tensors[static_cast<std::size_t>(at)].view());
      std::vector<tenon::TensorArg> arguments(views.size());
      for (std::size_t i = 0; i < views.size(); ++i) {
        if (views[i] != nullptr) arguments[i] = {&views[i], 1};
      }
      std::vector<tenon::Tensor> results(node.results.size());
      auto called = tenon::call_by_key(engine_, node.instance, arguments, nullptr, results);
      if (!called) return tenon::fail(called.error());
      for (std::size_t i = 0; i < results.size(); ++i)
        tensors[static_cast<std::size_t>(node.results[i])] = results[i];
    }
    return tensors;
  }

  [[nodiscard]] std::string text() const {
    std::string lines;
    for (const Node& node : nodes_) lines += node.schema + "\n";
    return lines;
  }

 private:
  struct Node {
    std::uint64_t instance = 0;
    std::string schema;
    std::vector<int> arguments;
    std::vector<int> results;
  };
  tenon::Engine& engine_;
  std::vector<tenon::TensorSpec> specs_;
  std::vector<int> inputs_;
  std::vector<Node> nodes_;
};
// docs:end tracer

}  // namespace toy
