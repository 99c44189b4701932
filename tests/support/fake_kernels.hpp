// What the fakes' kernels compute, on the host's own memory (`cpu`) and on the mock device
// (`fake`), with scripts.
#pragma once

#include <chrono>
#include <cstring>
#include <thread>

#include "support/fake_contracts.hpp"
#include "support/fake_control.hpp"
#include "support/fake_stream.hpp"
#include "tenon/plugin.hpp"

namespace tenon::test {

/// A view that may be kept: shape and strides by value.
struct KeptView {
  char* data;
  std::int64_t rank, shape[TENON_MAX_RANK], strides[TENON_MAX_RANK];
  explicit KeptView(const tenon::TensorRef& tensor)
      : data(from_fake_address(tensor.data_or_null<char>())),
        rank(static_cast<std::int64_t>(tensor.rank())) {
    for (std::size_t i = 0; i < tensor.rank(); ++i) {
      shape[i] = tensor.size(i);
      strides[i] = tensor.stride(i);
    }
  }
  [[nodiscard]] std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t i = 0; i < rank; ++i) n *= shape[i];
    return n;
  }
  /// Address of the k-th element in row-major order.
  [[nodiscard]] char* at(std::int64_t k, std::int64_t element_bytes) const {
    std::int64_t offset = 0;
    for (std::int64_t i = rank; i-- > 0;) {
      offset += k % shape[i] * strides[i];
      k /= shape[i];
    }
    return data + offset * element_bytes;
  }
};

/// Runs work on the launch's stream: at once where the device has none (`cpu`).
template <class Arguments>
void enqueue(const tenon::Launch& launch, void (*work)(void*), const Arguments& arguments) {
  auto* stream = launch.device().kind() == "fake" ? launch.stream<FakeStream*>() : nullptr;
  if (stream != nullptr) {
    stream->enqueue(stream, work, &arguments, sizeof(arguments));
  } else {
    Arguments copy = arguments;
    work(&copy);
  }
}

/// output = self + alpha * other in float32.
struct AddArguments {
  KeptView self, other, output;
  float alpha;
};
inline void run_add(void* bytes) {
  const auto& a = *static_cast<const AddArguments*>(bytes);
  for (std::int64_t k = 0; k < a.output.count(); ++k) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, a.self.at(k, 4), 4);
    std::memcpy(&y, a.other.at(k, 4), 4);
    x += a.alpha * y;
    std::memcpy(a.output.at(k, 4), &x, 4);
  }
}
inline void launch_add(const tenon::Launch& launch, double alpha) {
  enqueue(launch,
          &run_add,
          AddArguments{KeptView(launch[0]),
                       KeptView(launch[1]),
                       KeptView(launch[2]),
                       static_cast<float>(alpha)});
}

/// output = x, any dtype and strides.
struct CopyArguments {
  KeptView from, to;
  std::int64_t element_bytes;
};
inline void run_copy(void* bytes) {
  const auto& a = *static_cast<const CopyArguments*>(bytes);
  for (std::int64_t k = 0; k < a.to.count(); ++k) {
    std::memcpy(a.to.at(k, a.element_bytes),
                a.from.at(k, a.element_bytes),
                static_cast<std::size_t>(a.element_bytes));
  }
}
inline void launch_copy(const tenon::Launch& launch) {
  enqueue(launch,
          &run_copy,
          CopyArguments{KeptView(launch[0]),
                        KeptView(launch[1]),
                        static_cast<std::int64_t>(launch[0].dtype().size_bytes())});
}

/// Writes each byte of the workspace, so that one that is too small or shared shows.
struct WorkspaceArguments {
  char* workspace;
  std::uint64_t size_bytes;
};
inline void run_touch(void* bytes) {
  const auto& a = *static_cast<const WorkspaceArguments*>(bytes);
  std::memset(a.workspace, 0x5a, static_cast<std::size_t>(a.size_bytes));
}

/// A kernel of AddFwdOp that follows the script of its name.
class ScriptedAdd {
 public:
  ScriptedAdd(FakeKernel& script, double alpha) : script_(&script), alpha_(alpha) {}
  ~ScriptedAdd() { ++script_->destroys; }
  ScriptedAdd(const ScriptedAdd&) = delete;
  ScriptedAdd& operator=(const ScriptedAdd&) = delete;

  [[nodiscard]] std::uint64_t workspace_bytes() const {
    ++script_->workspaces;
    return script_->workspace_bytes;
  }
  void launch(const tenon::Launch& launch) const {
    ++script_->launches;
    if (script_->launch_status != 0) {
      throw_status(script_->launch_status, "the board says that this launch fails");
    }
    std::uint32_t failures = script_->fail_launches;
    while (failures != 0 && !script_->fail_launches.compare_exchange_weak(failures, failures - 1)) {
    }
    if (failures != 0) throw tenon::Failure(TENON_DEVICE, "the board says that this launch fails");
    if (script_->touches_workspace) {
      enqueue(launch,
              &run_touch,
              WorkspaceArguments{from_fake_address(launch.workspace<char>()),
                                 launch.workspace_bytes()});
    }
    launch_add(launch, alpha_);
  }
  void tune(const tenon::Launch& launch, std::uint64_t) {
    ++script_->tunes;
    launch_add(launch, alpha_);
  }
  [[nodiscard]] static std::string config() { return "tile=1"; }

  /// Ends a build or a launch with any status, TENON_REFUSED included, which an SDK plugin could
  /// not.
  struct Status {
    tenon_status status;
    const char* text;
  };
  [[noreturn]] static void throw_status(tenon_status status, const char* text) {
    throw Status{status, text};
  }

 private:
  FakeKernel* script_;
  double alpha_;
};

}  // namespace tenon::test
