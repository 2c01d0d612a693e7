/// The main function of every test binary: doctest's, plus two rules of this project.
///
/// A run that selects no test case fails (a misspelt filter must not look green), with an exit code
/// of its own. The GPU binaries report "skipped" on a machine without a GPU instead of passing.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#if defined(GNSTOR_TEST_NEEDS_GPU)
#include <cuda_runtime_api.h>
#endif

namespace {

constexpr int exit_nothing_selected = 3;
constexpr int exit_skipped = 77;

unsigned selected_cases = 0;

/// Counts the test cases that passed the filters of the command line.
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
  void test_case_skipped(const doctest::TestCaseData&) override {}
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
  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (context.shouldExit() || failed != 0) return failed;
  if (selected_cases == 0) {
    std::puts("no test case matches the filters");
    return exit_nothing_selected;
  }
  return 0;
}
