// Style and script of the report, from reports/report.css and reports/report.js.
#pragma once

namespace klab {

const char* report_css();
const char* report_js();

}  // namespace klab
