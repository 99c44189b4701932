// One call of each op that reaches each kernel type, for checks of what a device does around them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"

namespace tenon::gpu_check {

[[nodiscard]] tenon_reason empty_reason();

/// A call with its tensors on the device, ready to be repeated.
struct Ready {
  Op op;
  std::vector<Tensor> inputs;
  Tensor out;
  std::vector<const TensorView*> views;
  std::vector<TensorArg> arguments;

  Result<void> operator()() { return op.call_out(arguments, out.view()); }
};

[[nodiscard]] std::unique_ptr<Ready> make_ready(Bench& bench,
                                                const Call& call,
                                                const std::string& key);
[[nodiscard]] std::vector<Call> sample_calls();
/// All bytes of a tensor's storage.
[[nodiscard]] std::vector<std::byte> bytes_of(Bench& bench, const Tensor& tensor);

/// Calls visit(ready, group) for each sample under each key of the plugin, after a first call.
template <class Visit>
void over_samples(Bench& bench, Visit visit) {
  for (const Call& call : sample_calls()) {
    for (const std::string& key : bench.keys(call.op, call.dtype)) {
      auto ready = make_ready(bench, call, key);
      const std::string group = call.op + " " + key;
      if (const auto first = (*ready)(); !first) {
        bench.tally().fail(group, "first call: " + first.error().to_string());
        continue;
      }
      must(bench.devices().synchronize(bench.entry()));
      visit(*ready, group);
    }
  }
}

}  // namespace tenon::gpu_check
