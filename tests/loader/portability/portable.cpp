// A plugin in C++ that leans on its standard library: containers, strings, exceptions, type
// information. It is built by several compilers against several libraries, which then live in one
// process.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include <tenon/contracts/elementwise.h>
#include <tenon/plugin.hpp>

namespace {

struct Unwound : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Adder {
  virtual ~Adder() = default;
  virtual double term(double value) const = 0;
};
struct Scaled final : Adder {
  explicit Scaled(double alpha) : alpha(alpha) {}
  double term(double value) const override { return alpha * value; }
  double alpha;
};

struct Add {
  static constexpr auto op = "AddFwdOp", interface = "add_fwd", key = "add";
  static constexpr std::array devices{"cpu"};
  static constexpr std::array dtypes{tenon::kFloat32};
  using Call = tenon::contracts::add_fwd::Call;

  static tenon::Refusal refusal(const Call& call) {
    if (call.shape.size() > 2) return tenon::refuse("shape", tenon::at_most(2), call.shape.size());
    return tenon::serves;
  }
  static auto identity(const Call& call) { return std::tuple{call.alpha}; }

  explicit Add(const Call& call) {
    std::map<std::string, double> settings{{"alpha", call.alpha.as_double()}};
    std::ostringstream text;
    text << "alpha=" << settings.at("alpha");
    note_ = text.str() + std::string(100, '.');
    if (settings["alpha"] == 13) throw Unwound("thirteen is not served by " PORTABLE_ID);
    adder_ = std::make_unique<Scaled>(settings["alpha"]);
  }

  void launch(const tenon::Launch& launch) const {
    const auto* a = launch[0].data<const float>();
    const auto* b = launch[1].data<const float>();
    auto* to = launch[2].data<float>();
    std::vector<double> terms;
    for (std::int64_t i = 0; i < launch[2].element_count(); ++i)
      terms.push_back(adder_->term(b[i]));
    try {
      const Adder& adder = *adder_;
      if (typeid(adder) != typeid(Scaled)) throw Unwound("another type");
      (void)terms.at(terms.size());
    } catch (const std::out_of_range&) {  // thrown and caught by this plugin's own library
      const std::lock_guard<std::mutex> lock(mutex_);
      std::transform(terms.begin(), terms.end(), a, to, [](double term, float x) {
        return static_cast<float>(term + x);
      });
    }
  }

  std::string note_;
  std::unique_ptr<Adder> adder_;
  mutable std::mutex mutex_;
};

}  // namespace

TENON_PLUGIN(tenon::plugin(PORTABLE_ID, "1.0.0").vendor("Tests").needs_kinds("cpu").kernels<Add>());
