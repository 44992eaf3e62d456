// SPDX-License-Identifier: Apache-2.0
// The program `reprise`: words to a command, errors to exit statuses.
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/shown_text.h"
#include "cli/commands.h"
#include "cli/standard_streams.h"
#include "options/completion.h"
#include "options/help_text.h"
#include "options/resolve.h"
#include "reprise/error.h"
#include "reprise/log.h"
#include "reprise/version.h"

namespace reprise {

int run_completion(const ResolvedOptions& options) {
  print_output(completion_script(options.get_text("shell")));
  return 0;
}

namespace {

int run_command(const ResolvedOptions& options) {
  switch (options.command()) {
    case Command::train: return run_train(options);
    case Command::generate: return run_generate(options);
    case Command::eval: return run_eval(options);
    case Command::bench: return run_bench(options);
    case Command::plan: return run_plan(options);
    case Command::explain: return run_explain(options);
    case Command::trace: return run_trace(options);
    case Command::run_trace: return run_run_trace(options);
    case Command::models: return run_models(options);
    case Command::info: return run_info(options);
    case Command::export_model: return run_export(options);
    case Command::completion: return run_completion(options);
  }
  return kExitInternalError;
}

bool is_set(const ResolvedOptions& options, std::string_view flag) { return options.has(flag) && options.get_flag(flag); }

int run_program(const std::vector<std::string>& words) {
  const Invocation invocation = parse_invocation(words);
  switch (invocation.kind) {
    case Invocation::Kind::general_help: print_output(general_help_text()); return 0;
    case Invocation::Kind::version: print_output(fmt::format("reprise {}\n", version())); return 0;
    case Invocation::Kind::command: break;
  }
  const ResolvedOptions& options = *invocation.options;
  if (is_set(options, "help")) {
    print_output(command_help_text(options.command()));
    return 0;
  }
  if (is_set(options, "print_config")) {
    print_output(config_text(options));
    return 0;
  }
  return run_command(options);
}

/// A message is one line, whatever the names in it hold.
int fail(int status, const char* text) {
  print_error(fmt::format("reprise: {}\n", shown_text(text, std::string_view::npos)));
  return status;
}

int guarded(const std::vector<std::string>& words) {
  try {
    return run_program(words);
  } catch (const UserError& error) {
    return fail(kExitUserError, error.what());
  } catch (const DeviceError& error) {
    return fail(kExitDeviceError, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kExitDeviceError, "the system gave no more memory");
  } catch (const std::exception& error) {
    print_error(fmt::format("reprise: {}\n", error.what()));
    return kExitInternalError;
  }
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  reprise::open_standard_streams();
  reprise::take_file_limit_as_error();
  reprise::set_log_callback([](reprise::LogLevel level, const std::string& message) {
    reprise::print_error(fmt::format("reprise: {}{}\n", level == reprise::LogLevel::warning ? "warning: " : "",
                                     reprise::shown_text(message, std::string_view::npos)));
  });
  return reprise::guarded(std::vector<std::string>(argv + 1, argv + argc));
}
