// tenon_gpu_check: runs the plugins of real devices against the CPU's reference, and says what came
// of it. A program, not a test of the suite: it needs the hardware.
//
//   tenon_gpu_check --plugin PATH... [--kind KIND...] [--part NAME...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "check.hpp"

namespace {

using namespace tenon;             // NOLINT(google-build-using-namespace)
using namespace tenon::gpu_check;  // NOLINT(google-build-using-namespace)

struct Arguments {
  std::string program;
  std::vector<std::string> plugins;
  std::vector<std::string> kinds;
  std::vector<std::string> parts;
  bool illegal = false;
  bool met_by_product = false;
};

Arguments parse(int count, char** texts) {
  Arguments out;
  out.program = texts[0];
  for (int i = 1; i < count; ++i) {
    const std::string text = texts[i];
    const std::string value = i + 1 < count ? texts[i + 1] : "";
    if (text == "--illegal") {
      out.illegal = true;
      continue;
    }
    if (text == "--met-by-product") {
      out.met_by_product = true;
      continue;
    }
    ++i;
    if (text == "--plugin") {
      out.plugins.push_back(value);
    } else if (text == "--kind") {
      out.kinds.push_back(value);
    } else if (text == "--part") {
      out.parts.push_back(value);
    } else {
      std::printf("unknown option %s\n", text.c_str());
      std::exit(2);
    }
  }
  if (out.kinds.empty()) out.kinds = {"cuda", "hip-nvidia"};
  if (out.parts.empty())
    out.parts = {"values",
                 "widths",
                 "casts",
                 "long",
                 "hits",
                 "streams",
                 "capture",
                 "memory",
                 "errors",
                 "two",
                 "big"};
  return out;
}

Runtime make_runtime(const Arguments& arguments) {
  RuntimeOptions options;
  options.plugin_paths = arguments.plugins;
  options.standard_folders = false;
  options.settings = {{"selection.reference", "allow"}};
  return must(Runtime::create(options));
}

void print_devices(const Runtime& runtime) {
  DeviceTable& table = runtime.engine().devices();
  for (const DeviceKindEntry* kind : table.kinds()) {
    const auto devices = table.devices(kind->kind);
    if (!devices || devices->empty()) {
      std::printf("kind %s: no device: %s\n",
                  std::string(kind->kind.name()).c_str(),
                  table.no_devices_reason(kind->kind).c_str());
      continue;
    }
    for (const DeviceEntry& entry : *devices) {
      const auto& facts = entry.facts.fields();
      std::string same;
      for (const Device& other : table.same_card_as(entry)) same += " " + other.to_string();
      std::printf("%s: %s, arch %s, %u units, %llu bytes, pci %s, uuid %s, same card as%s\n",
                  entry.device.to_string().c_str(),
                  facts.name.c_str(),
                  facts.arch.c_str(),
                  facts.unit_count,
                  static_cast<unsigned long long>(facts.memory_bytes),
                  facts.pci.c_str(),
                  facts.uuid.c_str(),
                  same.empty() ? " none" : same.c_str());
    }
  }
}

void run_part(Bench& bench, const std::string& part, const Arguments& arguments) {
  if (part == "values") check_values(bench);
  if (part == "widths") check_widths(bench);
  if (part == "casts") check_casts(bench);
  if (part == "small") check_small(bench);
  if (part == "long") check_long_rows(bench);
  if (part == "hits") check_hits(bench);
  if (part == "streams") check_streams(bench);
  if (part == "capture") check_capture(bench);
  if (part == "memory") check_memory(bench, arguments.plugins);
  if (part == "errors") check_errors(bench, arguments.program, arguments.plugins);
  if (part == "two") check_two_cards(bench);
  if (part == "big") check_beyond_31_bits(bench);
}

/// All kinds in one process, each call on its own target.
bool run_kind(const Arguments& arguments, const std::string& kind) {
  std::printf("\n==== %s\n", kind.c_str());
  std::fflush(stdout);
  Runtime runtime = make_runtime(arguments);
  const Device device{DeviceKind::of(kind), 0};
  if (const auto found = runtime.engine().devices().find(device); !found) {
    std::printf("not run: %s\n", found.error().to_string().c_str());
    return false;
  }
  Bench bench(std::move(runtime), device);
  for (const std::string& part : arguments.parts) {
    const auto start = std::chrono::steady_clock::now();
    const std::size_t before = bench.tally().failures();
    run_part(bench, part, arguments);
    std::printf("%s: part %s took %.1f s, %zu failures\n",
                kind.c_str(),
                part.c_str(),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                bench.tally().failures() - before);
    std::fflush(stdout);
  }
  return bench.tally().print();
}

}  // namespace

int main(int count, char** texts) {
  const Arguments arguments = parse(count, texts);
  if (arguments.illegal) {
    Bench bench(make_runtime(arguments), Device{DeviceKind::of(arguments.kinds.front()), 0});
    return provoke_illegal_address(bench, arguments.met_by_product);
  }
  print_devices(make_runtime(arguments));
  bool fine = true;
  for (const std::string& kind : arguments.kinds) fine = run_kind(arguments, kind) && fine;
  std::printf("\n%s\n", fine ? "ALL PASSED" : "THERE WERE FAILURES");
  return fine ? 0 : 1;
}
