/// The main function of every test binary: doctest's, plus three rules of this project.
///
/// A run that selects no test case fails (a misspelt filter must not look green), with an exit code
/// of its own. The GPU binaries report "skipped" on a machine without a GPU instead of passing. A
/// case of the chosen source that is skipped is named: scripts/report_tests.py knows which may be.
/// A source of which every case is skipped is skipped itself.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#if defined(GNSTOR_TEST_NEEDS_GPU)
#include <cuda_runtime_api.h>
#endif

namespace {

constexpr int exit_nothing_selected = 3;
constexpr int exit_skipped = 77;

unsigned selected_cases = 0;
unsigned skipped_cases = 0;  // of the chosen source
std::string chosen_source;   // what CTest's --source-file=*...* has between the stars; or empty

/// The source that one of the arguments chooses.
std::string source_of(int argc, char** argv) {
  const std::string option = "--source-file=*";
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument.starts_with(option) && argument.ends_with('*')) {
      return argument.substr(option.size(), argument.size() - option.size() - 1);
    }
  }
  return "";
}

/// Counts the test cases that passed the filters of the command line, and names those that a
/// decorator skips.
struct case_counter : doctest::IReporter {
  explicit case_counter(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    selected_cases = stats.numTestCasesPassingFilters;
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData& one) override {
    const std::string file = one.m_file.c_str();
    if (!one.m_skip || chosen_source.empty() || file.find(chosen_source) == file.npos) return;
    ++skipped_cases;
    std::printf("skipped case: %s\n", one.m_name);
  }
};
DOCTEST_REGISTER_LISTENER("case_counter", 1, case_counter);

bool machine_can_run() {
#if defined(GNSTOR_TEST_NEEDS_GPU)
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
#else
  return true;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (!machine_can_run()) {
    std::puts("skipped: no GPU");
    return exit_skipped;
  }
  chosen_source = source_of(argc, argv);
  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (context.shouldExit() || failed != 0) return failed;
  if (selected_cases == 0 && skipped_cases != 0) return exit_skipped;
  if (selected_cases == 0) {
    std::puts("no test case matches the filters");
    return exit_nothing_selected;
  }
  return 0;
}
