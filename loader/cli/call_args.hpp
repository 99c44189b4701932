// The arguments of a call on the command line: OP, name=TENSOR, --set, --target, --device.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "tenon/core/device.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/op_decl.hpp"
#include "tenon/core/value.hpp"
#include "tensor_arg.hpp"

namespace tenon::cli {

/// The call as written, before the op is known.
struct CallText {
  std::string op;
  std::vector<TensorSource> tensors;
  std::vector<std::pair<std::string, std::string>> sets;  ///< parameter and the text of its value
  std::optional<std::string> target;
  std::optional<Device> device;
  bool in_place = false;
};

/// Options that name a call, for the tables of the commands that take one.
inline constexpr std::array<OptionSpec, 3> kCallOptions{{
    {"set", "NAME=VALUE", "set a parameter: a YAML scalar or list", true},
    {"target", "TARGET", "serve the call under this target"},
    {"device",
     "KIND[:N]",
     "the device of the tensors; default: that of the target, else devices.default"},
}};

/// @errors UsageError: no OP, an operand that is no name=TENSOR, a tensor or parameter twice, a bad
/// device.
[[nodiscard]] Result<CallText> parse_call(const Arguments& arguments);

/// Where each tensor of a call goes by the op's declaration.
struct CallTensors {
  std::vector<const TensorSource*> construction;
  std::vector<const TensorSource*> inputs;
  const TensorSource* out = nullptr;  ///< the buffered output, passed as `out`
};

/// @errors UsageError for a name that is no tensor of the op: nearest names; a parameter's name
/// says so.
[[nodiscard]] Result<CallTensors> sort_tensors(const OpDecl& decl, const CallText& call);

/// The value of `--set name=text` as YAML. Where the parameter's type admits no text, `1e-6`, which
/// YAML 1.1 reads as a text, is the float that it looks like; a dtype parameter takes short names.
/// @errors UsageError.
[[nodiscard]] Result<Value> parse_set_value(const OpDecl& decl,
                                            const std::string& name,
                                            const std::string& text);
/// All of them.
[[nodiscard]] Result<std::vector<NamedValue>> parse_sets(const OpDecl& decl, const CallText& call);

/// Splits `name=VALUE`. @errors UsageError naming the option.
[[nodiscard]] Result<std::pair<std::string, std::string>> split_assignment(std::string_view option,
                                                                           const std::string& text);

/// `--out name=FILE`, or `--out FILE` where one output is returned: file by output.
/// @errors UsageError: unknown output (nearest names), several outputs and no name, a name twice.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_outs(
    const OpDecl& decl, const std::vector<std::string>& texts);

}  // namespace tenon::cli
