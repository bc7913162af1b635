//! JUnit XML: a test suite for each file, a test case for each row. A flaky row has its failed try as a rerun.

use crate::row::{Row, Verdict};
use quick_junit::{
    NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestRerun, TestSuite,
};

pub fn xml(rows: &[Row]) -> Result<String, SerializeError> {
    let mut report = Report::new("onecall");
    let mut suites: Vec<TestSuite> = Vec::new();
    for row in rows {
        let suite = match suites.iter_mut().find(|own| own.name.as_str() == row.suite) {
            Some(suite) => suite,
            None => suites.push_mut(TestSuite::new(row.suite.clone())),
        };
        suite.add_test_case(case(row));
    }
    report.add_test_suites(suites);
    report.to_string()
}

fn case(row: &Row) -> TestCase {
    let reasons = row.reasons();
    let message = reasons.first().cloned().unwrap_or_default();
    let status = match row.verdict {
        Verdict::Pass => {
            let mut status = TestCaseStatus::success();
            if row.flaky {
                let mut rerun = TestRerun::new(NonSuccessKind::Failure);
                rerun.set_message("failed first, passed when run again");
                status.add_rerun(rerun);
            }
            status
        }
        Verdict::Fail => failed(NonSuccessKind::Failure, message, &reasons),
        Verdict::Error => failed(NonSuccessKind::Error, message, &reasons),
        Verdict::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(message);
            status
        }
    };
    let mut case = TestCase::new(row.label(), status);
    case.set_time(row.duration);
    case.set_classname("composition");
    case
}

fn failed(kind: NonSuccessKind, message: String, reasons: &[String]) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(message);
    status.set_type(match kind {
        NonSuccessKind::Failure => "assertion",
        NonSuccessKind::Error => "error",
    });
    status.set_description(reasons.join("\n"));
    status
}
