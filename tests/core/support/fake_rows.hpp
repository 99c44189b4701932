// Kernel types made in the test's own process: what they declare and how they answer is scripted
// row by row.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/registry.hpp"

namespace tenon::test {

/// One scripted kernel type. Counters tell what the host did with it, on any thread.
struct FakeRow {
  std::string op;
  std::string interface;
  std::string key;
  std::vector<std::string> devices{"fake"};
  std::vector<std::string> archs;
  std::vector<std::string> preferred_over;
  std::vector<DType> dtypes;
  std::vector<std::pair<DType, DType>> stored;  ///< further dtypes, and what each is stored as
  std::uint32_t alignment_elements = 0;
  std::uint64_t flags = 0;
  std::uint32_t layouts = 0;
  /// REFUSED with what it fills, or OK. Null: serves every call.
  std::function<tenon_status(const tenon_device&, const tenon_call&, tenon_reason&)> refuse;
  /// What a launch does; null: nothing.
  std::function<tenon_status(const tenon_launch&, tenon_reason&)> launch;
  std::function<tenon_status(tenon_reason&)> build;  ///< null: succeeds
  std::uint64_t workspace_bytes = 0;
  /// What tuning does; null: the kernel cannot tune.
  std::function<tenon_status(const tenon_launch&, tenon_reason&)> tune;
  std::string config;              ///< what a kernel says of itself; empty: it has no such function
  std::string tuned_with;          ///< the tuned configuration that the last build was given
  bool identity_is_empty = false;  ///< one build serves every call
  bool identity_fails = false;     ///< with UNAVAILABLE

  std::atomic<int> refuses = 0;
  std::atomic<int> builds = 0;
  std::atomic<int> launches = 0;
  std::atomic<int> destroys = 0;
};

/// A host table whose store is a map. Lives as long as the process.
struct FakeStore {
  std::map<std::string, std::string> items;
  tenon_host table{};

  static FakeStore& make() {
    static auto* const kAll = new std::vector<std::unique_ptr<FakeStore>>;
    kAll->push_back(std::make_unique<FakeStore>());
    FakeStore& store = *kAll->back();
    store.table.struct_size = sizeof(tenon_host);
    store.table.context = &store;
    store.table.cache_get = [](const tenon_host* host,
                               tenon_str key,
                               void* out,
                               std::uint64_t capacity,
                               std::uint64_t* size) -> tenon_status {
      const auto& items = static_cast<FakeStore*>(host->context)->items;
      const auto at = items.find(std::string(key.data, key.size_bytes));
      if (at == items.end()) return TENON_NOT_FOUND;
      *size = at->second.size();
      if (at->second.size() <= capacity) std::memcpy(out, at->second.data(), at->second.size());
      return TENON_OK;
    };
    store.table.cache_put = [](const tenon_host* host,
                               tenon_str key,
                               const void* bytes,
                               std::uint64_t size) -> tenon_status {
      static_cast<FakeStore*>(host->context)->items[std::string(key.data, key.size_bytes)] =
          std::string(static_cast<const char*>(bytes), size);
      return TENON_OK;
    };
    return store;
  }
};

/// A plugin of scripted rows. Lives as long as the process, as real ones do.
class FakePlugin {
 public:
  /// `contract_of` gives the contract that rows of an interface were built against.
  static FakePlugin& make(std::string id) {
    // Kept where a leak checker finds them.
    static auto* const kAll = new std::vector<std::unique_ptr<FakePlugin>>;
    kAll->emplace_back(new FakePlugin);
    FakePlugin* plugin = kAll->back().get();
    plugin->info_.id = std::move(id);
    plugin->info_.version = "1.0.0";
    plugin->info_.path = "/plugins/" + plugin->info_.id + ".tenon.so";
    return *plugin;
  }

  FakeRow& add(std::string_view op, const InterfaceDecl& interface, std::string key) {
    rows_.emplace_back();
    FakeRow& row = rows_.back();
    row.op = op;
    row.interface = interface.name;
    row.key = std::move(key);
    contracts_.push_back(contract_of(interface));
    return row;
  }

  /// The rows as they cross.
  std::vector<tenon_kernel_type> abi_rows() {
    std::vector<tenon_kernel_type> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) all.push_back(abi_row(rows_[i], contracts_[i]));
    return all;
  }

  Result<void> commit(Registry& registry, PluginRecord& record) {
    PluginTransaction transaction(&info_);
    const auto rows = abi_rows();
    const tenon_registrar* r = transaction.registrar();
    tenon_reason reason{};
    reason.struct_size = sizeof reason;
    if (kind_) (void)r->add_device_kind(r->context, &*kind_, &reason);
    (void)r->add_kernel_types(
        r->context, rows.data(), rows.size(), sizeof(tenon_kernel_type), &reason);
    for (const auto& t : targets_) (void)r->add_target(r->context, &t, &reason);
    record.id = info_.id;
    record.version = info_.version;
    record.path = info_.path;
    return registry.commit(transaction, record);
  }
  Result<void> commit(Registry& registry) {
    PluginRecord record;
    return commit(registry, record);
  }

  /// Takes the first row out again.
  void drop_first() {
    rows_.pop_front();
    contracts_.erase(contracts_.begin());
  }

  void own_kind(const tenon_device_kind& kind) { kind_ = kind; }
  void add_target(const tenon_target& target) { targets_.push_back(target); }
  PluginInfo& info() { return info_; }

 private:
  FakePlugin() = default;

  template <class T>
  const T* keep(std::vector<T> items) {
    auto kept = std::make_shared<std::vector<T>>(std::move(items));
    kept_.push_back(kept);
    return kept->data();
  }
  tenon_str text(const std::string& s) {
    texts_.push_back(s);
    return {texts_.back().data(), texts_.back().size()};
  }
  const tenon_str* list(const std::vector<std::string>& items) {
    std::vector<tenon_str> strs;
    for (const auto& s : items) strs.push_back(text(s));
    return keep(std::move(strs));
  }

  const tenon_contract* contract_of(const InterfaceDecl& interface) {
    std::vector<tenon_field> fields;
    for (const auto& f : interface.fields) {
      fields.push_back({text(f.name),
                        f.kind,
                        f.optional ? TENON_FIELD_OPTIONAL : 0u,
                        list(f.members),
                        f.members.size()});
    }
    std::vector<tenon_arg> args;
    for (const auto& a : interface.args) {
      std::vector<tenon_dtype> dtypes;
      for (const DType d : a.dtypes) dtypes.push_back(to_abi(d));
      const std::uint32_t flags =
          (a.optional ? TENON_ARG_OPTIONAL : 0u) | (a.list ? TENON_ARG_LIST : 0u);
      args.push_back({text(a.name), keep(std::move(dtypes)), a.dtypes.size(), a.role, flags});
    }
    tenon_contract c{};
    c.struct_size = sizeof c;
    c.hash = contract_hash(interface);
    c.n_fields = fields.size();
    c.n_args = args.size();
    c.fields = keep(std::move(fields));
    c.args = keep(std::move(args));
    return keep(std::vector<tenon_contract>{c});
  }

  tenon_kernel_type abi_row(FakeRow& row, const tenon_contract* contract) {
    tenon_kernel_type t{};
    t.struct_size = sizeof t;
    t.op = text(row.op);
    t.interface = text(row.interface);
    t.key = text(row.key);
    t.contract = contract;
    t.devices = list(row.devices);
    t.n_devices = row.devices.size();
    t.archs = list(row.archs);
    t.n_archs = row.archs.size();
    t.preferred_over = list(row.preferred_over);
    t.n_preferred_over = row.preferred_over.size();
    std::vector<tenon_storage> storage;
    for (const DType d : row.dtypes) storage.push_back({to_abi(d), to_abi(d)});
    for (const auto& [d, as] : row.stored) storage.push_back({to_abi(d), to_abi(as)});
    t.n_storage = storage.size();
    t.storage = keep(std::move(storage));
    t.flags = row.flags;
    t.layouts = row.layouts;
    t.alignment_elements = row.alignment_elements;
    t.context = &row;
    t.refuse = [](void* context,
                  const tenon_device* device,
                  const tenon_call* call,
                  tenon_reason* reason) -> tenon_status {
      auto& r = *static_cast<FakeRow*>(context);
      ++r.refuses;
      return r.refuse ? r.refuse(*device, *call, *reason) : TENON_OK;
    };
    if (row.identity_is_empty) {
      t.identity = [](void*,
                      const tenon_device*,
                      const tenon_call*,
                      void*,
                      std::uint64_t,
                      std::uint64_t* size) -> tenon_status {
        *size = 0;
        return TENON_OK;
      };
    }
    if (row.identity_fails) {
      t.identity =
          [](void*, const tenon_device*, const tenon_call*, void*, std::uint64_t, std::uint64_t*)
          -> tenon_status { return TENON_UNAVAILABLE; };
    }
    t.build = [](void* context,
                 const tenon_host*,
                 const tenon_build* build,
                 tenon_kernel* out,
                 tenon_reason* reason) -> tenon_status {
      auto& r = *static_cast<FakeRow*>(context);
      ++r.builds;
      if (build->tuned_config.size_bytes != 0)
        r.tuned_with.assign(build->tuned_config.data, build->tuned_config.size_bytes);
      if (r.build) {
        if (const tenon_status status = r.build(*reason); status != TENON_OK) return status;
      }
      out->state = &r;
      if (r.tune) {
        out->tune = [](void* state, const tenon_launch* launch, std::uint64_t, tenon_reason* why)
            -> tenon_status { return static_cast<FakeRow*>(state)->tune(*launch, *why); };
      }
      if (!r.config.empty()) {
        out->config = [](void* state,
                         char* text,
                         std::uint64_t capacity,
                         std::uint64_t* size) -> tenon_status {
          const std::string& mine = static_cast<FakeRow*>(state)->config;
          *size = mine.size();
          if (mine.size() <= capacity) std::memcpy(text, mine.data(), mine.size());
          return TENON_OK;
        };
      }
      if (r.workspace_bytes != 0) {
        out->workspace = [](void* state, const tenon_call*, std::uint64_t* bytes) -> tenon_status {
          *bytes = static_cast<FakeRow*>(state)->workspace_bytes;
          return TENON_OK;
        };
      }
      out->launch = [](void* state, const tenon_launch* launch, tenon_reason* why) -> tenon_status {
        auto& self = *static_cast<FakeRow*>(state);
        ++self.launches;
        return self.launch ? self.launch(*launch, *why) : TENON_OK;
      };
      out->destroy = [](void* state) { ++static_cast<FakeRow*>(state)->destroys; };
      return TENON_OK;
    };
    return t;
  }

  PluginInfo info_;
  std::deque<FakeRow> rows_;  // stable addresses
  std::vector<const tenon_contract*> contracts_;
  std::deque<std::string> texts_;
  std::vector<std::shared_ptr<void>> kept_;
  std::optional<tenon_device_kind> kind_;
  std::vector<tenon_target> targets_;
};

/// A refusal with its reason filled.
inline tenon_status refuse_with(tenon_reason& reason,
                                std::uint32_t code,
                                std::int32_t arg,
                                const char* attribute,
                                const char* text) {
  reason.code = code;
  reason.arg_index = arg;
  std::snprintf(reason.attribute, sizeof reason.attribute, "%s", attribute);
  std::snprintf(reason.text, sizeof reason.text, "%s", text);
  return TENON_REFUSED;
}

/// A device kind on host memory with a scripted number of devices. Context: a FakeKind.
struct FakeKind {
  /// One that lives as long as the process, as a plugin's tables do: what a thread keeps of a
  /// device is given back through them, also after the test.
  static FakeKind& make() {
    static auto* const kAll = new std::vector<std::unique_ptr<FakeKind>>;
    kAll->push_back(std::make_unique<FakeKind>());
    return *kAll->back();
  }

  std::uint32_t count = 1;
  tenon_status count_status = TENON_OK;
  const char* no_devices = "";
  std::vector<std::uint32_t> failing;  ///< devices whose describe fails
  std::vector<std::string> archs{"f2", "f1"};
  std::vector<std::string> second_archs;  ///< of device 1; empty: as all others
  std::atomic<int> fail_allocs{0};        ///< so many allocations fail, then none
  std::atomic<int> enumerations = 0;
  std::atomic<std::int64_t> live_bytes = 0;
  std::atomic<int> allocations = 0;
  std::atomic<bool> capturing = false;  ///< every stream captures, or capturing_stream alone
  void* capturing_stream = nullptr;
  bool makes_streams = false;
  std::atomic<int> streams = 0;             ///< made and not yet given back
  std::atomic<const char*> left = nullptr;  ///< what an earlier launch left behind
  [[nodiscard]] bool captures(void* stream) const {
    return capturing && (capturing_stream == nullptr || capturing_stream == stream);
  }
  std::uint64_t flags = TENON_DEVICE_FLAG_SYNCHRONOUS | TENON_DEVICE_FLAG_HOST_MEMORY;
  std::uint64_t described_flags = 0;  ///< of every device, besides the kind's
  std::uint64_t claimed_archs = 0;    ///< what describe says instead of how many there are
  std::vector<tenon_str> arch_strs;
  std::vector<tenon_str> second_strs;

  tenon_device_kind table(std::string_view name) {
    arch_strs.clear();
    for (const auto& a : archs) arch_strs.push_back({a.data(), a.size()});
    tenon_device_kind k{};
    k.struct_size = sizeof k;
    k.kind = {name.data(), name.size()};
    k.flags = static_cast<std::uint32_t>(flags);
    k.context = this;
    k.count = [](void* c, std::uint32_t* n, tenon_reason* reason) -> tenon_status {
      auto& self = *static_cast<FakeKind*>(c);
      ++self.enumerations;
      std::snprintf(reason->text, sizeof reason->text, "%s", self.no_devices);
      *n = self.count;
      return self.count_status;
    };
    k.describe =
        [](void* c, std::uint32_t index, tenon_device* out, tenon_reason* reason) -> tenon_status {
      auto& self = *static_cast<FakeKind*>(c);
      for (const auto bad : self.failing) {
        if (bad == index) {
          std::snprintf(reason->text, sizeof reason->text, "device %u does not answer", index);
          return TENON_DEVICE;
        }
      }
      out->arch = self.arch_strs.front();
      out->runs_archs = self.arch_strs.data();
      out->n_runs_archs = self.arch_strs.size();
      if (index == 1 && !self.second_archs.empty()) {
        self.second_strs.clear();
        for (const auto& a : self.second_archs) self.second_strs.push_back({a.data(), a.size()});
        out->arch = self.second_strs.front();
        out->runs_archs = self.second_strs.data();
        out->n_runs_archs = self.second_strs.size();
      }
      if (self.claimed_archs != 0) out->n_runs_archs = self.claimed_archs;
      out->flags |= static_cast<std::uint32_t>(self.described_flags);
      out->unit_count = 4;
      out->warp_size = 1;
      out->native = c;
      return TENON_OK;
    };
    k.alloc = [](void* c,
                 const tenon_device*,
                 std::uint32_t,
                 std::uint64_t size,
                 void* stream,
                 void** out,
                 tenon_reason* reason) -> tenon_status {
      auto& self = *static_cast<FakeKind*>(c);
      if (self.capturing_stream != nullptr && self.captures(stream)) {
        std::snprintf(reason->text, sizeof reason->text, "the stream captures");
        return TENON_INVALID_ARGUMENT;
      }
      if (self.fail_allocs > 0) {
        --self.fail_allocs;
        return TENON_OUT_OF_MEMORY;
      }
      *out = std::aligned_alloc(256, static_cast<std::size_t>((size + 255) / 256 * 256));
      self.live_bytes += static_cast<std::int64_t>(size);
      ++self.allocations;
      return *out == nullptr ? TENON_OUT_OF_MEMORY : TENON_OK;
    };
    k.free = [](void* c,
                const tenon_device*,
                std::uint32_t,
                void* memory,
                std::uint64_t size,
                void*,
                tenon_reason*) -> tenon_status {
      static_cast<FakeKind*>(c)->live_bytes -= static_cast<std::int64_t>(size);
      std::free(memory);
      return TENON_OK;
    };
    k.copy = [](void*,
                const tenon_device*,
                void* dst,
                const tenon_device*,
                const void* src,
                std::uint64_t size,
                void*,
                tenon_reason*) -> tenon_status {
      std::memcpy(dst, src, static_cast<std::size_t>(size));
      return TENON_OK;
    };
    k.synchronize = [](void*, const tenon_device*, tenon_reason*) -> tenon_status {
      return TENON_OK;
    };
    k.stream_is_capturing = [](void* c,
                               const tenon_device*,
                               void* stream,
                               std::uint32_t* yes,
                               tenon_reason*) -> tenon_status {
      *yes = static_cast<FakeKind*>(c)->captures(stream) ? 1 : 0;
      return TENON_OK;
    };
    if (makes_streams) {
      k.stream_create =
          [](void* c, const tenon_device*, void** stream, tenon_reason*) -> tenon_status {
        ++static_cast<FakeKind*>(c)->streams;
        *stream = new char;
        return TENON_OK;
      };
      k.stream_destroy =
          [](void* c, const tenon_device*, void* stream, tenon_reason*) -> tenon_status {
        --static_cast<FakeKind*>(c)->streams;
        delete static_cast<char*>(stream);
        return TENON_OK;
      };
    }
    k.last_error =
        [](void* c, const tenon_device*, std::uint32_t, tenon_reason* reason) -> tenon_status {
      const char* text = static_cast<FakeKind*>(c)->left;
      if (text == nullptr) return TENON_OK;
      std::snprintf(reason->text, sizeof reason->text, "%s", text);
      return TENON_DEVICE;
    };
    return k;
  }
};

}  // namespace tenon::test
