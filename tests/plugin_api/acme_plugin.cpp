// The plugin of the SDK's tests: one class for each thing that a kernel type may or may not say.
#include "acme_plugin.hpp"

#include <new>
#include <stdexcept>

namespace acme {

Call Call::from(const tenon_call& call) {
  return {tenon::read<std::int64_t>(call, 0, "m"),
          tenon::read<std::int64_t>(call, 1, "n"),
          tenon::read<double>(call, 2, "eps"),
          tenon::read<tenon::ElementType>(call, 3, "dtype"),
          tenon::read<bool>(call, 4, "affine")};
}

const tenon_contract& Call::contract() {
  static const tenon_contract contract{sizeof(tenon_contract), 0x1234, nullptr, 0, nullptr, 0};
  return contract;
}

CallData::CallData(std::int64_t m, std::int64_t n, tenon::ElementType dtype)
    : fields{tenon_value{TENON_VALUE_INT, 0, 0, m, 0, nullptr},
             tenon_value{TENON_VALUE_INT, 0, 0, n, 0, nullptr},
             tenon_value{TENON_VALUE_FLOAT, 0, 0, 0, 1e-6, nullptr},
             tenon_value{
                 TENON_VALUE_DTYPE, 0, 0, static_cast<std::int64_t>(dtype.id()), 0, nullptr},
             tenon_value{TENON_VALUE_BOOL, 0, 0, 0, 0, nullptr}},
      args{tenon_arg_facts{1, TENON_LAYOUT_DENSE, 8, -1, 0, 0},
           tenon_arg_facts{0, TENON_LAYOUT_DENSE, 0, -1, 0, 0},
           tenon_arg_facts{1, TENON_LAYOUT_DENSE, 4, 0, 1, 0}},
      call_{sizeof(tenon_call), fields.data(), fields.size(), args.data(), args.size()} {}

tenon_registrar Rows::registrar() {
  tenon_registrar r{};
  r.struct_size = sizeof(r);
  r.context = this;
  r.add_device_kind = [](void* context, const tenon_device_kind* kind, tenon_reason*) {
    auto& rows = *static_cast<Rows*>(context);
    rows.kinds.push_back(*kind);
    return rows.answer;
  };
  r.add_kernel_types = [](void* context,
                          const tenon_kernel_type* first,
                          uint64_t count,
                          uint64_t element_size,
                          tenon_reason*) {
    auto& rows = *static_cast<Rows*>(context);
    if (element_size != sizeof(tenon_kernel_type)) return TENON_INVALID_ARGUMENT;
    rows.types.insert(rows.types.end(), first, first + count);
    return rows.answer;
  };
  r.add_target = [](void* context, const tenon_target* target, tenon_reason*) {
    auto& rows = *static_cast<Rows*>(context);
    rows.targets.push_back(*target);
    return rows.answer;
  };
  return r;
}

const tenon_kernel_type& Rows::type(std::string_view key) const {
  for (const tenon_kernel_type& type : types) {
    if (tenon::to_view(type.key) == key) return type;
  }
  throw std::out_of_range("no such key");
}

tenon_device a2_device() {
  static constexpr tenon_str archs[] = {{"a2.1", 4}, {"a2", 2}};
  tenon_device device{};
  device.struct_size = sizeof(device);
  device.kind = tenon::to_str("acme");
  device.arch = archs[0];
  device.runs_archs = archs;
  device.n_runs_archs = 2;
  device.unit_count = 7;
  return device;
}

namespace {

struct ShortRowNorm {
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "short_rows";
  static constexpr std::array devices{"acme"};
  static constexpr std::array supported_archs{"a2", "a3"};
  static constexpr std::array preferred_over{"rows", "other:*"};
  static constexpr std::array dtypes{tenon::kFloat32, tenon::kFloat16};
  static constexpr std::uint32_t layouts = tenon::kInner | tenon::kStrided;
  static constexpr std::uint32_t alignment = 8;
  static constexpr auto accumulate = tenon::kFloat32;
  static constexpr bool deterministic = true, capture_safe = true, general = false;
  using Call = acme::Call;

  static tenon::Refusal refusal(const Call& call,
                                const tenon::DeviceFacts& device,
                                const tenon::ArgFacts& args) {
    if (call.n > 1024) return tenon::refuse("n", tenon::at_most(1024), call.n);
    if (device.unit_count() < 4) return tenon::refuse(TENON_REASON_DEVICE_LIMIT, "needs 4 units");
    if (args.any_wide() && call.m < 0) return tenon::refuse(TENON_REASON_WIDE, "no wide rows");
    return tenon::serves;
  }
  static auto identity(const Call& call) { return std::tuple{call.n, call.dtype, call.affine}; }

  ShortRowNorm(const Call& call, tenon::BuildContext& context)
      : n_(call.n), units_(context.device().unit_count()) {
    if (call.n == 13) throw std::runtime_error("no tile fits 13");
    if (call.n == 14) throw tenon::Failure(TENON_DEVICE, "the driver said no");
    if (call.n == 15) throw 15;  // NOLINT: the point is that anything may be thrown
    if (call.n == 16) throw std::bad_alloc();
  }
  static std::uint64_t workspace_bytes(const Call& call) {
    return static_cast<std::uint64_t>(call.m) * 4;
  }
  void launch(const tenon::Launch& launch) const {
    if (!launch[1].present())
      launch[2].data<float>()[0] = static_cast<float>(n_) + static_cast<float>(units_);
    if (launch.stream<const int*>() != nullptr && *launch.stream<const int*>() == 1) {
      throw tenon::Failure(TENON_DEVICE, "launch failed");
    }
  }
  void tune(const tenon::Launch&, std::uint64_t budget_ns) {
    n_ = static_cast<std::int64_t>(budget_ns);
  }
  [[nodiscard]] std::string config() const { return "n=" + std::to_string(n_); }

 private:
  std::int64_t n_;
  std::uint32_t units_;
};

struct Plain {
  static constexpr auto op = "RMSNormFwdOp", interface = "rms_norm_fwd", key = "rows",
                        devices = "acme";
  static constexpr std::array storage{tenon::stored(tenon::kBool, tenon::kUInt8)};
  static constexpr bool general = true, reference = true, handles_padding = true,
                        sequential_sums = true;
  using Call = tenon::RawCall;
  static const tenon_contract& contract() { return acme::Call::contract(); }
  tenon_status launch(const tenon::Launch& launch)
      const {  // NOLINT(readability-convert-member-functions-to-static)
    return launch.wide() ? TENON_UNAVAILABLE : TENON_OK;
  }
};

struct Graph {
  static constexpr auto name = "acme-graph";
  static constexpr std::array kinds{"acme"};
  static constexpr std::array ops{"AddFwdOp", "MulFwdOp"};
  struct Kernel {
    explicit Kernel(std::int64_t add) : add_(add) {}
    void launch(const tenon::Launch& launch) const { launch[0].data<std::int64_t>()[0] += add_; }
    static std::uint64_t workspace_bytes() { return 64; }
    std::int64_t add_;
  };
  [[nodiscard]] static bool claims(const tenon::DeviceFacts& device) { return device.runs("a2"); }
  [[nodiscard]] static tenon::BuiltKernel build(const tenon::TargetBuild& build) {
    if (build.op() > 1) throw tenon::Failure(TENON_INVALID_ARGUMENT, "no such op");
    return tenon::built<Kernel>(build.param<std::int64_t>(0) + build.input(0).size(0));
  }
};

struct OtherSource : Plain {
  static constexpr auto key = "elsewhere";
};
tenon::KernelRows other_rows() { return tenon::kernel_rows<OtherSource>(); }

}  // namespace
}  // namespace acme

TENON_PLUGIN(tenon::plugin("acme", "1.2.0")
                 .vendor("Acme")
                 .option("fast", true)
                 .option("tiles", 4)
                 .option("path", "none")
                 .needs_kinds("cuda")
                 .kernels<acme::ShortRowNorm>()
                 .kernels<acme::Plain>()
                 .targets<acme::Graph>()
                 .rows(acme::other_rows));
