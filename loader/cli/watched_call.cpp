// Makes the watched call, and looks for what it changed and for what it left.
#include "watched_call.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "elements.hpp"
#include "tenon/core/floating_environment.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

/// NaN in every format that has one, and no bool.
constexpr std::byte kPoison{0xff};
/// Other bits of every element.
constexpr std::byte kOtherPoison{0xa5};

/// "kernel 'acme:rows'"
std::string kernels_text(const SignatureCall& record) {
  std::vector<std::string> names;
  for (const KernelUse& use : record.kernels) {
    std::string name = fmt::format("'{}'", use.kernel);
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  }
  if (names.empty()) return "the call";
  return (names.size() == 1 ? "kernel " : "one of the kernels ") + joined(names);
}

std::string output_text(const OpDecl& decl, std::size_t result) {
  const std::size_t output = std::min(result, decl.outputs.size() - 1);
  return fmt::format("output '{}'", decl.outputs[output].name);
}

std::string output_name(const OpDecl& decl, std::size_t result) {
  return decl.outputs[std::min(result, decl.outputs.size() - 1)].name;
}

bool holds(const std::byte* element, std::size_t size, std::byte value) {
  return std::all_of(element, element + size, [&](std::byte byte) { return byte == value; });
}

/// The tensors of a call as they shall be before it: of `out`, whose contents do not count, every
/// element is poison.
Result<NamedTensors> poisoned(const NamedTensors& host, std::byte poison) {
  NamedTensors image = host;
  if (!host.out) return image;
  auto out = copy_of(*host.out);
  if (!out) return fail(std::move(out).error());
  const std::size_t size = size_bytes_of(out->dtype());
  for_each_element(out->view(), [&](std::byte* element, std::int64_t) {
    std::memset(element, std::to_integer<int>(poison), size);
  });
  image.out = std::move(*out);
  return image;
}

/// Which bytes of a tensor's allocation are its elements'.
std::vector<bool> element_bytes(const Tensor& host) {
  std::vector<bool> is_element(host.storage()->size_bytes(), false);
  const auto* const begin = static_cast<const std::byte*>(host.storage()->memory());
  const std::size_t size = size_bytes_of(host.dtype());
  for_each_element(host.view(), [&](const std::byte* element, std::int64_t) {
    const auto at = static_cast<std::size_t>(element - begin);
    std::fill_n(is_element.begin() + static_cast<std::ptrdiff_t>(at), size, true);
  });
  return is_element;
}

/// How far written bytes lie, where they are not those next to the memory.
std::string reach_text(std::uint64_t bytes, std::uint64_t reach) {
  return bytes == reach ? std::string() : fmt::format(", as far as {}", counted(reach, "byte"));
}

/// One look at a call's memory.
class Watch {
 public:
  Watch(DeviceTable& devices, const PreparedCall& call, const CalledOnce& called)
      : devices_(devices), call_(call), called_(called), kernels_(kernels_text(called.record)) {}

  Result<void> guards(GuardedMemory& memory) {
    auto damages = memory.damage();
    if (!damages) return fail(std::move(damages).error());
    for (const GuardDamage& damage : *damages) {
      const auto [name, text] = owner_of(damage);
      if (damage.past_bytes != 0) {
        add("past_end",
            name,
            damage.past_bytes,
            fmt::format("{} wrote {} past the end of {}{}",
                        kernels_,
                        counted(damage.past_bytes, "byte"),
                        text,
                        reach_text(damage.past_bytes, damage.past_reach)));
      }
      if (damage.before_bytes != 0) {
        add("before_start",
            name,
            damage.before_bytes,
            fmt::format("{} wrote {} before the start of {}{}",
                        kernels_,
                        counted(damage.before_bytes, "byte"),
                        text,
                        reach_text(damage.before_bytes, damage.before_reach)));
      }
    }
    return {};
  }

  /// Inputs that the op does not write, and whatever lies between elements.
  Result<void> contents(const NamedTensors& image) {
    for (std::size_t i = 0; i < image.inputs.size(); ++i) {
      const NamedTensor& input = image.inputs[i];
      TENON_TRY(compare(std::string(input.name),
                        fmt::format("input '{}'", input.name),
                        input.tensor,
                        called_.tensors.inputs[i].tensor,
                        is_written(input.name)));
    }
    if (!image.out || call_.out_is_first_input) return {};
    const std::string& name = call_.tensors.out->name;
    return compare(name, fmt::format("output '{}'", name), *image.out, *called_.tensors.out, true);
  }

  /// Elements of outputs that hold what was there before the launch.
  [[nodiscard]] std::vector<std::vector<bool>> untouched(std::byte poison) const {
    std::vector<std::vector<bool>> all(called_.host_results.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Tensor& result = called_.host_results[i];
      if (!result.defined() || is_input(called_.results[i])) continue;
      all[i].assign(static_cast<std::size_t>(result.view().count()), false);
      const std::size_t size = size_bytes_of(result.dtype());
      for_each_element(result.view(), [&](const std::byte* element, std::int64_t index) {
        all[i][static_cast<std::size_t>(index)] = holds(element, size, poison);
      });
    }
    return all;
  }

  void unwritten(const std::vector<std::vector<bool>>& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto count =
          static_cast<std::uint64_t>(std::count(elements[i].begin(), elements[i].end(), true));
      if (count == 0) continue;
      const std::string output = output_text(call_.decl(), i);
      const std::string all = counted(elements[i].size(), "element");
      const auto first = std::find(elements[i].begin(), elements[i].end(), true);
      const Dims at = indices_of(first - elements[i].begin(), called_.host_results[i].shape());
      add("unwritten",
          output_name(call_.decl(), i),
          count,
          count == elements[i].size()
              ? fmt::format("{} did not write {} at all ({})", kernels_, output, all)
              : fmt::format("{} did not write {} of the {} of {}; the first of them is {}",
                            kernels_,
                            count,
                            all,
                            output,
                            at.to_string()));
    }
  }

  void environment() {
    add("environment",
        {},
        1,
        fmt::format("{} changed the floating-point environment and did not restore it", kernels_));
  }

  [[nodiscard]] std::vector<RunFault> take() { return std::move(faults_); }

 private:
  void add(const char* kind, std::string tensor, std::uint64_t count, std::string text) {
    faults_.push_back({kind, std::move(tensor), count, std::move(text)});
  }

  [[nodiscard]] bool is_written(std::string_view input) const {
    const auto& written = called_.record.written_inputs;
    if (call_.out_is_first_input && input == call_.decl().inputs.front().name) return true;
    return std::find(written.begin(), written.end(), input) != written.end();
  }
  [[nodiscard]] bool is_input(const Tensor& result) const {
    return std::any_of(
        called_.tensors.inputs.begin(), called_.tensors.inputs.end(), [&](const auto& input) {
          return input.tensor.storage() == result.storage();
        });
  }

  /// Name and description of the tensor whose allocation was written beside.
  [[nodiscard]] std::pair<std::string, std::string> owner_of(const GuardDamage& damage) const {
    const auto described = [&](const Tensor& tensor, std::string what) {
      return fmt::format(
          "{} ({} in {})", what, tensor.spec().to_string(), counted(damage.size_bytes, "byte"));
    };
    const auto is_it = [&](const Tensor& tensor) {
      return tensor.defined() && tensor.storage()->memory() == damage.memory;
    };
    for (const NamedTensor& input : called_.tensors.inputs) {
      if (is_it(input.tensor)) {
        return {std::string(input.name),
                described(input.tensor, fmt::format("input '{}'", input.name))};
      }
    }
    for (std::size_t i = 0; i < called_.results.size(); ++i) {
      if (is_it(called_.results[i]))
        return {output_name(call_.decl(), i),
                described(called_.results[i], output_text(call_.decl(), i))};
    }
    return {{},
            fmt::format("{} that were made for the call, a workspace or a temporary tensor",
                        counted(damage.size_bytes, "byte"))};
  }

  Result<void> compare(const std::string& name,
                       const std::string& text,
                       const Tensor& before,
                       const Tensor& after,
                       bool may_change) {
    if (!before.defined() || before.storage()->size_bytes() == 0) return {};
    std::vector<std::byte> now(before.storage()->size_bytes());
    TENON_TRY(devices_.copy_bytes(
        Device{}, now.data(), after.device(), after.storage()->memory(), now.size()));
    const auto* const then = static_cast<const std::byte*>(before.storage()->memory());
    if (std::memcmp(now.data(), then, now.size()) == 0) return {};
    const std::vector<bool> is_element = element_bytes(before);
    std::uint64_t elements = 0;
    std::uint64_t gaps = 0;
    std::size_t first_gap = 0;
    for (std::size_t at = now.size(); at-- > 0;) {
      if (now[at] == then[at]) continue;
      if (is_element[at]) {
        ++elements;
      } else {
        ++gaps;
        first_gap = at;
      }
    }
    if (elements != 0 && !may_change) {
      add("input",
          name,
          elements,
          fmt::format("{} changed {} of {}, which the op does not write",
                      kernels_,
                      counted(elements, "byte"),
                      text));
    }
    if (gaps != 0) {
      add("gap",
          name,
          gaps,
          fmt::format("{} changed {} beside the elements of {} (strides {}), the first at byte {} "
                      "of its memory",
                      kernels_,
                      counted(gaps, "byte"),
                      text,
                      before.strides().to_string(),
                      first_gap));
    }
    return {};
  }

  DeviceTable& devices_;
  const PreparedCall& call_;
  const CalledOnce& called_;
  std::string kernels_;
  std::vector<RunFault> faults_;
};

bool any_of(const std::vector<std::vector<bool>>& elements) {
  return std::any_of(elements.begin(), elements.end(), [](const auto& of_output) {
    return std::find(of_output.begin(), of_output.end(), true) != of_output.end();
  });
}

/// A call, and whether it left the floating-point environment changed, which is put back.
struct PoisonCall {
  CalledOnce called;
  bool changed_floats = false;
};

Result<PoisonCall> call_on_poison(const Session& session,
                                  Op& op,
                                  const PreparedCall& call,
                                  const NamedTensors& image,
                                  const GuardedMemory& memory) {
  const FloatingEnvironment floats;
  auto called = call_once(session, op, call, image, Placement::kCopy);
  const bool changed_floats = floats.restore();
  if (called) return PoisonCall{std::move(*called), changed_floats};
  if (auto failure = memory.failure()) return fail(std::move(*failure));
  auto refusal = memory.refusal();
  if (!refusal) return fail(std::move(called).error());
  // The table only knows that it was given none.
  if (called.error().message().find(GuardedMemory::kName) != std::string::npos)
    return fail(std::move(*refusal));
  return fail(std::move(called).error().with_hint("the device's owner: " + refusal->message()));
}

}  // namespace

Result<WatchedCall> watched_call(const Session& session,
                                 Op& op,
                                 const PreparedCall& call,
                                 const NamedTensors& host,
                                 GuardedMemory& memory) {
  DeviceTable& devices = session.engine().devices();
  memory.guard(kPoison);
  auto image = poisoned(host, kPoison);
  if (!image) return fail(std::move(image).error());
  auto made = call_on_poison(session, op, call, *image, memory);
  if (!made) return fail(std::move(made).error());
  CalledOnce& called = made->called;
  Watch watch(devices, call, called);
  if (made->changed_floats) watch.environment();
  TENON_TRY(watch.guards(memory));
  TENON_TRY(watch.contents(*image));
  auto untouched = watch.untouched(kPoison);
  if (any_of(untouched)) {
    memory.guard(kOtherPoison);
    auto other_image = poisoned(host, kOtherPoison);
    if (!other_image) return fail(std::move(other_image).error());
    auto again = call_on_poison(session, op, call, *other_image, memory);
    if (!again) return fail(std::move(again).error());
    const auto other = Watch(devices, call, again->called).untouched(kOtherPoison);
    for (std::size_t i = 0; i < untouched.size(); ++i) {
      for (std::size_t at = 0; at < untouched[i].size(); ++at)
        untouched[i][at] = untouched[i][at] && i < other.size() && other[i][at];
    }
    watch.unwritten(untouched);
  }
  memory.rest();
  std::vector<RunFault> faults = watch.take();
  return WatchedCall{std::move(called), std::move(faults)};
}

}  // namespace tenon::cli
