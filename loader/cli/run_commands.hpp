// The function behind each command, one per file cmd_*.cpp. Each returns an exit status, or an
// error for `report_error`.
#pragma once

#include "arguments.hpp"
#include "console.hpp"

namespace tenon::cli {

[[nodiscard]] Result<int> run_plugins(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_plugins_inspect(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_plugins_doctor(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_devices(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_targets(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_ops(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_ops_show(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_explain(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_infer(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_run(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_manifest_check(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_manifest_show(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_manifest_cases(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_manifest_schemas(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_manifest_codegen(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_manifest_cases(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_manifest_diff(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_new_plugin(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_schema(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_config_show(const Arguments& arguments, Console& console);
[[nodiscard]] Result<int> run_config_path(const Arguments& arguments, Console& console);

}  // namespace tenon::cli
