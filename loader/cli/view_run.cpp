// `tenon run` as text and as JSON.
#include "view_run.hpp"

#include <fmt/format.h>

#include "json.hpp"
#include "text.hpp"

namespace tenon::cli {
namespace {

std::string optional_text(const std::optional<double>& value) {
  return value ? number_text(*value) : "-";
}
Json optional_json(const std::optional<double>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

std::string check_text(const RunCheck& check, const Style& style) {
  std::string text = "check     ";
  if (check.ok && !check.not_compared.empty()) {
    text += inked("nothing compared", Ink::kWarn, style) + ": " + check.not_compared;
    return text + "\n          its memory was watched: no fault\n";
  }
  text += check.ok ? inked("ok", Ink::kGood, style) : inked("WRONG", Ink::kBad, style);
  text += fmt::format(": at most {} ulp, {} absolute, {} relative\n",
                      number_text(check.max_ulp),
                      number_text(check.max_abs),
                      number_text(check.max_rel));
  if (!check.worst.empty()) text += fmt::format("          worst at {}\n", check.worst);
  const auto add = [&](std::string_view paragraph) {
    for (const std::string& line : wrapped(paragraph, static_cast<std::size_t>(style.width) - 10))
      if (!line.empty()) text += fmt::format("          {}\n", line);
  };
  for (const RunFault& fault : check.faults) add(fault.text);
  add("against " + check.reference);
  return text;
}

std::string time_text(const RunTime& time, const std::optional<Cost>& roofline) {
  std::string text = fmt::format("time      median {} (p10 {}, p90 {}) of {} runs",
                                 duration_text(time.median_ns),
                                 duration_text(time.p10_ns),
                                 duration_text(time.p90_ns),
                                 time.repeats);
  if (roofline && time.median_ns > 0) {
    // Per nanosecond is giga per second.
    text += fmt::format("\n          {:.4g} GB/s, {:.4g} GFLOP/s",
                        roofline->bytes / time.median_ns,
                        roofline->flops / time.median_ns);
  }
  return text + '\n';
}

}  // namespace

std::string run_text(const RunReport& report, const Style& style) {
  std::string text = fmt::format("{} on {}", inked(report.op, Ink::kBold, style), report.device);
  if (!report.target.empty()) text += fmt::format(", target {}", report.target);
  text += '\n';
  Table inputs({{""}, {""}, {"", false, true}});
  for (const RunInput& input : report.inputs) inputs.row({input.name, input.spec, input.origin});
  text += inputs.render(style, 2) + '\n';

  for (const RunKernel& kernel : report.kernels) {
    text += fmt::format("kernel    {}", inked(kernel.key, Ink::kBold, style));
    if (report.kernels.size() > 1)
      text += fmt::format(" (step {}, interface {})", kernel.step, kernel.interface);
    text += '\n';
    for (const std::string& line :
         wrapped(kernel.why, static_cast<std::size_t>(style.width) - 10)) {
      if (!line.empty()) text += fmt::format("          {}\n", line);
    }
  }
  if (report.kernels.empty()) text += "kernel    none ran: there was nothing to compute\n";
  if (report.copies > 0)
    text += fmt::format("copies    {}\n",
                        report.copies == 1
                            ? std::string("1 argument was copied to be dense")
                            : fmt::format("{} arguments were copied to be dense", report.copies));

  text += '\n';
  Table outputs({{"OUTPUT"},
                 {"DTYPE"},
                 {"SHAPE"},
                 {"MIN", true},
                 {"MAX", true},
                 {"MEAN", true},
                 {"NAN", true},
                 {""}});
  for (const RunOutput& output : report.outputs) {
    outputs.row({output.name,
                 name_of(output.dtype),
                 output.shape.to_string(),
                 optional_text(output.stats.min),
                 optional_text(output.stats.max),
                 optional_text(output.stats.mean),
                 std::to_string(output.stats.nan_count),
                 output.alias.empty() ? "" : fmt::format("is {}", output.alias)});
    if (!output.file.empty()) outputs.note("written to " + output.file);
  }
  if (!outputs.empty()) text += outputs.render(style) + '\n';

  if (report.roofline) {
    text += fmt::format("cost      {}, {}\n",
                        quantity_text(report.roofline->flops, "flop"),
                        bytes_text(report.roofline->bytes));
  } else if (!report.no_roofline.empty()) {
    text += fmt::format("cost      unknown: {}\n", report.no_roofline);
  }
  if (report.check) text += check_text(*report.check, style);
  if (report.time) text += time_text(*report.time, report.roofline);
  return text;
}

std::string run_json(const RunReport& report) {
  Json json = document();
  json["op"] = report.op;
  json["device"] = report.device;
  json["target"] = report.target;
  json["kernels"] = Json::array();
  for (const RunKernel& kernel : report.kernels) {
    json["kernels"].push_back({{"step", kernel.step},
                               {"interface", kernel.interface},
                               {"key", kernel.key},
                               {"why", kernel.why}});
  }
  json["copies"] = report.copies;
  json["outputs"] = Json::array();
  for (const RunOutput& output : report.outputs) {
    Json entry;
    entry["name"] = output.name;
    entry["dtype"] = name_of(output.dtype);
    entry["shape"] = to_json(output.shape);
    entry["file"] = text_or_null(output.file);
    entry["min"] = optional_json(output.stats.min);
    entry["max"] = optional_json(output.stats.max);
    entry["mean"] = optional_json(output.stats.mean);
    entry["nan_count"] = output.stats.nan_count;
    entry["alias"] = text_or_null(output.alias);
    json["outputs"].push_back(std::move(entry));
  }
  json["check"] = nullptr;
  if (report.check) {
    json["check"] = {{"max_ulp", to_json(report.check->max_ulp)},
                     {"max_abs", to_json(report.check->max_abs)},
                     {"max_rel", to_json(report.check->max_rel)},
                     {"ok", report.check->ok},
                     {"compared", report.check->not_compared.empty()},
                     {"not_compared", text_or_null(report.check->not_compared)},
                     {"reference", report.check->reference},
                     {"worst", text_or_null(report.check->worst)},
                     {"faults", Json::array()}};
    for (const RunFault& fault : report.check->faults) {
      json["check"]["faults"].push_back({{"kind", fault.kind},
                                         {"tensor", text_or_null(fault.tensor)},
                                         {"count", fault.count},
                                         {"text", fault.text}});
    }
  }
  json["time"] = nullptr;
  if (report.time) {
    json["time"] = {{"median_ns", report.time->median_ns},
                    {"p10_ns", report.time->p10_ns},
                    {"p90_ns", report.time->p90_ns},
                    {"repeats", report.time->repeats}};
  }
  json["roofline"] = nullptr;
  if (report.roofline) {
    json["roofline"] = {{"flops", to_json(report.roofline->flops)},
                        {"bytes", to_json(report.roofline->bytes)}};
  }
  return text_of(json);
}

}  // namespace tenon::cli
