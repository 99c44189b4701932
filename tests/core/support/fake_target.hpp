// A builder target made in the test's own process: it serves ScaleFwdOp by tripling.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/plugin.h"

namespace tenon::test {

// A scripted builder target.
struct FakeTarget {
  explicit FakeTarget(std::string n) : name(std::move(n)) {}
  std::string name;
  std::vector<std::string> kinds{"fake"};
  std::vector<std::string> ops{"ScaleFwdOp"};
  bool claims = false;
  int builds = 0;
  int launches = 0;
  std::vector<bool> built_with;  ///< presence of each spec of the last build
  std::vector<std::int64_t> last_shape;
  bool specs_have_data = false;
  std::size_t launch_args = 0;
  std::vector<tenon_str> kind_strs;
  std::vector<tenon_str> op_strs;

  tenon_target row() {
    kind_strs.clear();
    op_strs.clear();
    for (const auto& k : kinds) kind_strs.push_back({k.data(), k.size()});
    for (const auto& o : ops) op_strs.push_back({o.data(), o.size()});
    tenon_target t{};
    t.struct_size = sizeof t;
    t.name = {name.data(), name.size()};
    t.kinds = kind_strs.data();
    t.n_kinds = kind_strs.size();
    t.ops = op_strs.data();
    t.n_ops = op_strs.size();
    t.context = this;
    t.claims = [](void* c, const tenon_device*, std::uint32_t* yes) -> tenon_status {
      *yes = static_cast<FakeTarget*>(c)->claims ? 1 : 0;
      return TENON_OK;
    };
    t.build = [](void* c,
                 const tenon_host*,
                 std::uint64_t op,
                 const tenon_build* build,
                 const tenon_tensor* const* specs,
                 const std::uint32_t*,
                 std::uint64_t n_inputs,
                 const tenon_value*,
                 std::uint64_t,
                 tenon_kernel* out,
                 tenon_reason*) -> tenon_status {
      auto& self = *static_cast<FakeTarget*>(c);
      ++self.builds;
      self.built_with.clear();
      for (std::uint64_t i = 0; i < n_inputs; ++i) {
        self.built_with.push_back(specs[i] != nullptr);
        if (specs[i] != nullptr && specs[i]->data != nullptr) self.specs_have_data = true;
      }
      self.last_shape.assign(specs[0]->shape, specs[0]->shape + specs[0]->rank);
      if (op != 0 || build->call != nullptr) return TENON_INVALID_ARGUMENT;
      out->state = c;
      out->launch = [](void* s, const tenon_launch* l, tenon_reason*) -> tenon_status {
        auto& me = *static_cast<FakeTarget*>(s);
        ++me.launches;
        me.launch_args = l->n_args;
        const tenon_tensor& x = *l->tensors[l->arg_first[0]];
        const tenon_tensor& y = *l->tensors[l->arg_first[2]];
        for (std::int64_t i = 0; i < x.shape[0]; ++i)
          static_cast<float*>(y.data)[i] = 3 * static_cast<float*>(x.data)[i];
        return TENON_OK;
      };
      out->destroy = [](void*) {};
      return TENON_OK;
    };
    return t;
  }
};

}  // namespace tenon::test
