// The table of commands: names, options, help and the function of each.
#include "commands.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "call_args.hpp"
#include "external.hpp"
#include "run_commands.hpp"
#include "tenon/core/nearest.hpp"

namespace tenon::cli {
namespace {

constexpr OptionSpec kInPlace{
    "inplace", "", "write the result into the first input, where the op has that form"};
constexpr std::array<OptionSpec, 2> kPluginsOptions{{
    {"search", "", "print every place that was looked in, and the setting that named it"},
    {"devices", "", "ask every plugin for its devices, which starts drivers"},
}};
constexpr std::array<OptionSpec, 1> kDoctorOptions{{
    {"timeout", "SECONDS", "give a child process up after so long; default 30"},
}};
constexpr std::array<OptionSpec, 4> kExplainOptions{{
    kCallOptions[0],
    kCallOptions[1],
    kCallOptions[2],
    {"assume",
     "FILE",
     "take devices from a file as 'tenon devices --json' prints it; --device names one of them"},
}};
constexpr std::array<OptionSpec, 4> kInferOptions{{
    kCallOptions[0],
    kCallOptions[1],
    kCallOptions[2],
    kInPlace,
}};
constexpr std::array<OptionSpec, 7> kRunOptions{{
    kCallOptions[0],
    kCallOptions[1],
    kCallOptions[2],
    {"out",
     "[NAME=]FILE",
     "write an output to a .npy file; NAME may be left out where there is one",
     true},
    kInPlace,
    {"check",
     "",
     "compare with the reference kernel in float64, under the bound of the op's error model, and "
     "watch memory: nothing beside the outputs is written, all of them are, inputs stay"},
    {"time", "", "repeat the call and print median, p10 and p90"},
}};
constexpr std::array<OptionSpec, 1> kSchemaOptions{{
    {"lint", "", "also report what the grammar allows and nobody should write"},
}};

constexpr std::array<OptionSpec, 3> kNewPluginOptions{{
    {"device", "KIND", "also own a device kind, simulated in host memory until a driver is there"},
    {"lang", "LANGUAGE", "c++ (default), or c for the bare header"},
    {"into", "FOLDER", "where to write; default: a new folder of the plugin's name"},
}};

constexpr std::string_view kCallHelp =
    "A tensor is FILE.npy, FILE.npy:DTYPE where the file's integers carry the bits of a dtype that "
    "NumPy lacks, or "
    "SHAPE:DTYPE[^PERM][+OFFSET][/STEP][~FILL][@SEED]. SHAPE is 2048x4096; 8e is an expanded size, "
    "'scalar' rank 0. PERM "
    "lists the axes from outermost to innermost in memory: 2048x4096:bf16^1,0 is the transpose of "
    "a dense 4096x2048. +3 "
    "starts 3 elements in, /2 takes every other element of the last axis, /-1 walks it backwards. "
    "FILL is normal, uniform, "
    "arange, zeros or const=V; arange counts in row-major order and starts again at 0 behind the "
    "last of the whole numbers that the dtype holds without a gap. Naming the op's buffered output "
    "passes it as 'out'. infer also takes ranges for sizes, [1..4096]x4096:bf16.";

constexpr std::array kCommands{
    CommandSpec{
        .name = "plugins",
        .operands = "[list]",
        .summary = "plugins that were found, and what became of each",
        .description = "States are active, rejected, quarantined, disabled and shadowed.",
        .examples =
            "tenon plugins\ntenon plugins --search\ntenon plugins --plugin-path ./build --json",
        .options = kPluginsOptions,
        .reads_manifests = true,
        .run = run_plugins},
    CommandSpec{
        .name = "plugins inspect",
        .operands = "FILE",
        .summary = "what a plugin file says about itself, without running its code",
        .description = "Reads the identity note and the dynamic section from the file's bytes; "
                       "nothing of it is mapped or run. "
                       "Exit status 1 where the file cannot be loaded as a plugin.",
        .examples = "tenon plugins inspect cpu.tenon.so\ntenon plugins inspect cpu.tenon.so --json",
        .min_operands = 1,
        .max_operands = 1,
        .takes_common = false,
        .run = run_plugins_inspect},
    CommandSpec{.name = "plugins doctor",
                .operands = "[FILE]",
                .summary = "check a plugin file, or all that are found, and say what to mend",
                .description =
                    "Reads the file, then maps, starts and enumerates it and asks for its "
                    "devices in a child process, and registers its rows in another. Each check "
                    "passes or comes with what to do. Starts drivers. Exit status 1 where a "
                    "check fails.",
                .examples = "tenon plugins doctor build/acme.tenon.so\ntenon plugins doctor --json",
                .options = kDoctorOptions,
                .max_operands = 1,
                .reads_manifests = true,
                .run = run_plugins_doctor},
    CommandSpec{.name = "devices",
                .summary = "devices of every plugin",
                .description = "Starts drivers. A kind without a device is named with its plugin's "
                               "reason. The JSON can be "
                               "given to 'tenon explain --assume' on another machine.",
                .examples = "tenon devices\ntenon devices --json > devices.json",
                .run = run_devices},
    CommandSpec{.name = "targets",
                .summary = "targets, which devices each claims, and the ops it serves",
                .description = "Table targets choose among the kernels of all plugins; builder "
                               "targets serve whole ops. What "
                               "no builder target claims is served by 'builtin'.",
                .examples = "tenon targets\ntenon targets --json",
                .reads_manifests = true,
                .run = run_targets},
    CommandSpec{.name = "ops",
                .operands = "[list]",
                .summary = "ops: contract, kernels by device kind, backward",
                .description = "",
                .examples = "tenon ops\ntenon ops --json --manifest my_ops/",
                .reads_manifests = true,
                .run = run_ops},
    CommandSpec{.name = "ops show",
                .operands = "OP",
                .summary = "everything about one op",
                .description = "Schemas, arguments and effects, inference, interfaces with the "
                               "kernel types installed for "
                               "them and the pairs between which nothing decides, backward.",
                .examples = "tenon ops show RMSNormFwdOp\ntenon ops show AddFwdOp --json",
                .min_operands = 1,
                .max_operands = 1,
                .reads_manifests = true,
                .run = run_ops_show},
    CommandSpec{.name = "explain",
                .operands = "OP [NAME=TENSOR...]",
                .summary = "which kernel a call would get, and why each other one would not",
                .description = kCallHelp,
                .examples =
                    "tenon explain RMSNormFwdOp x=2048x4096:bf16 weight=4096:bf16 --set "
                    "'normalized_shape=[4096]'\n"
                    "tenon explain AddFwdOp self=64x64:f16^1,0 other=64x64:f16 --set-config "
                    "selection.copies=never\n"
                    "tenon explain SumFwdOp x=8x8:f32 --assume devices.json --device acme:1",
                .options = kExplainOptions,
                .min_operands = 1,
                .max_operands = kAnyNumber,
                .reads_manifests = true,
                .run = run_explain},
    CommandSpec{
        .name = "run",
        .operands = "OP [NAME=TENSOR...]",
        .summary = "run an op on real data",
        .description = kCallHelp,
        .examples =
            "tenon run RMSNormFwdOp x=in.npy --set 'normalized_shape=[512]' --set eps=1e-6 --out "
            "y.npy\n"
            "tenon run AddFwdOp self=2048x4096:bf16 other=4096:bf16 --check --time\n"
            "tenon run AddFwdOp self=8x8:f32~arange other=8x8:f32~const=1 --inplace --out y.npy",
        .options = kRunOptions,
        .min_operands = 1,
        .max_operands = kAnyNumber,
        .reads_manifests = true,
        .run = run_run},
    CommandSpec{.name = "infer",
                .operands = "OP [NAME=TENSOR...]",
                .summary = "check a call and infer its outputs; runs and selects nothing",
                .description = kCallHelp,
                .examples =
                    "tenon infer RMSNormFwdOp x=2048x4096:bf16 --set 'normalized_shape=[4096]'\n"
                    "tenon infer AddFwdOp self=8x1x4:f32 other=5x4:f32 --json\n"
                    "tenon infer AddFwdOp 'self=[1..4096]x128:f32' other=128:f32",
                .options = kInferOptions,
                .min_operands = 1,
                .max_operands = kAnyNumber,
                .reads_manifests = true,
                .run = run_infer},
    CommandSpec{.name = "manifest check",
                .operands = "PATH...",
                .summary = "check the entries of files and folders",
                .description = "Prints every finding with file, line, column, what was found, what "
                               "was expected and a hint. "
                               "Exit status 1 where one is an error.",
                .examples = "tenon manifest check my_ops/\ntenon manifest check norm.yaml --json",
                .min_operands = 1,
                .max_operands = kAnyNumber,
                .takes_common = false,
                .run = run_manifest_check},
    CommandSpec{.name = "manifest show",
                .operands = "OP",
                .summary = "an entry as it is understood",
                .description = "",
                .examples = "tenon manifest show RMSNormFwdOp\ntenon manifest show MyFwdOp "
                            "--manifest my_ops/ --json",
                .min_operands = 1,
                .max_operands = 1,
                .reads_manifests = true,
                .takes_common = false,
                .run = run_manifest_show},
    CommandSpec{
        .name = "manifest schemas",
        .operands = "[OP]",
        .summary = "operator schemas of one entry or all, one per effect branch",
        .description = "",
        .examples = "tenon manifest schemas AddFwdOp\ntenon manifest schemas --manifest my_ops/",
        .max_operands = 1,
        .reads_manifests = true,
        .takes_common = false,
        .run = run_manifest_schemas},
    CommandSpec{
        .name = "manifest cases",
        .operands = "[OP]",
        .summary = "the calls that workload rows determine, of one entry or all",
        .description = "With --json one document a line.",
        .examples =
            "tenon manifest cases RMSNormFwdOp\ntenon manifest cases --manifest my_ops/ --json",
        .max_operands = 1,
        .reads_manifests = true,
        .takes_common = false,
        .run = run_manifest_cases},
    CommandSpec{
        .name = "manifest codegen",
        .operands = "DIR",
        .summary = "write what the entries give rise to below a folder",
        .description =
            "The typed C++ API and the contract headers of kernel interfaces (tenon/), reference "
            "pages\n"
            "(reference/) and the whole set as JSON (manifest.json). "
            "Files whose contents would be the same are left alone. Prints those that changed.",
        .examples = "tenon manifest codegen build/generated --manifest my_ops/",
        .min_operands = 1,
        .max_operands = 1,
        .reads_manifests = true,
        .takes_common = false,
        .run = run_manifest_codegen},
    CommandSpec{
        .name = "manifest diff",
        .operands = "OLD NEW",
        .summary = "what a change of the manifest breaks, and for whom",
        .description =
            "OLD and NEW are files or folders. Exit status 1 where callers or plugins may break.",
        .examples =
            "tenon manifest diff v1/ops v2/ops\ntenon manifest diff old.yaml new.yaml --json",
        .min_operands = 2,
        .max_operands = 2,
        .takes_common = false,
        .run = run_manifest_diff},
    CommandSpec{
        .name = "schema",
        .operands = "FILE",
        .summary = "read operator schemas, one a line, and print the verdict on each",
        .description =
            "Prints a line per schema, tab-separated: ok, its kind, the schema printed back; or "
            "error, column, rule, "
            "message. 'func:' before a schema is allowed. FILE may be - for standard input.",
        .examples =
            "tenon schema schemas.txt\ntenon schema --lint native_functions.txt | grep ^error",
        .options = kSchemaOptions,
        .min_operands = 1,
        .max_operands = 1,
        .takes_common = false,
        .run = run_schema},
    CommandSpec{
        .name = "new-plugin",
        .operands = "NAME",
        .summary = "write a plugin project that builds, loads and passes its tests",
        .description = "The project has one kernel to replace by your own. NAME is the plugin's "
                       "id: lower-case "
                       "letters, digits and -.",
        .examples =
            "tenon new-plugin acme\ntenon new-plugin acme --device widget\ntenon new-plugin "
            "acme --lang c --into plugins/acme",
        .options = kNewPluginOptions,
        .min_operands = 1,
        .max_operands = 1,
        .takes_common = false,
        .run = run_new_plugin},
    CommandSpec{.name = "config show",
                .summary = "the effective configuration, and where each value came from",
                .description = "Then looks up the ops, kernels, plugins, targets and device kinds "
                               "that it names, for which plugins are loaded, and tells on stderr "
                               "what is not there.",
                .examples = "tenon config show\ntenon config show --set-config target=cpu --json",
                .run = run_config_show},
    CommandSpec{.name = "config path",
                .summary = "the configuration file in use, and where files were looked for",
                .description = "",
                .examples = "tenon config path\ntenon config path --json",
                .run = run_config_path},
};

bool is_word(std::string_view text) { return !text.empty() && text.front() != '-'; }

const CommandSpec* named(std::string_view name) {
  const auto* const found = std::find_if(kCommands.begin(),
                                         kCommands.end(),
                                         [&](const auto& command) { return command.name == name; });
  return found == kCommands.end() ? nullptr : found;
}

/// Second words of the commands that begin with `first`.
std::vector<std::string> subcommands_of(std::string_view first) {
  std::vector<std::string> names;
  for (const CommandSpec& command : kCommands) {
    const std::size_t space = command.name.find(' ');
    if (space == std::string_view::npos || command.name.substr(0, space) != first) continue;
    names.emplace_back(command.name.substr(space + 1));
  }
  return names;
}

tl::unexpected<Error> unknown_command(std::string_view word) {
  std::vector<std::string> known{"help", "version"};
  for (const CommandSpec& command : kCommands)
    known.emplace_back(command.name.substr(0, command.name.find(' ')));
  for (const ExternalCommand& command : external_commands()) known.emplace_back(command.name);
  std::string hint = did_you_mean(word, known);
  if (hint.empty()) hint = "'tenon --help' lists the commands";
  return fail(Error(ErrorCode::kUsageError, fmt::format("there is no command '{}'", word))
                  .with_hint(std::move(hint)));
}

tl::unexpected<Error> wrong_subcommand(std::string_view first,
                                       std::string_view second,
                                       std::vector<std::string> known) {
  std::string all = fmt::format("'tenon {}' has {}", first, fmt::join(known, ", "));
  if (second.empty()) {
    return fail(Error(ErrorCode::kUsageError, fmt::format("'tenon {}' needs a second word", first))
                    .with_hint(std::move(all)));
  }
  std::string hint = did_you_mean(second, known);
  return fail(
      Error(ErrorCode::kUsageError, fmt::format("there is no command '{} {}'", first, second))
          .with_hint(hint.empty() ? std::move(all) : std::move(hint)));
}

}  // namespace

std::span<const CommandSpec> all_commands() { return kCommands; }

Result<FoundCommand> find_command(std::span<const std::string> words) {
  const std::string& first = words.front();
  const std::string second = words.size() > 1 && is_word(words[1]) ? words[1] : std::string();
  if (const CommandSpec* exact = named(first + ' ' + second)) return FoundCommand{exact, 2};
  std::vector<std::string> below = subcommands_of(first);
  const CommandSpec* const alone = named(first);
  // A command that stands for the listing of its group: `tenon ops` is `tenon ops list`.
  const bool lists = alone != nullptr && !below.empty();
  if (lists && second == "list") return FoundCommand{alone, 2};
  if (alone != nullptr && (second.empty() || !lists)) return FoundCommand{alone, 1};
  if (below.empty()) return unknown_command(first);
  if (lists) below.emplace_back("list");
  return wrong_subcommand(first, second, std::move(below));
}

}  // namespace tenon::cli
