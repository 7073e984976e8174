// Style and script of the site beyond those of the report, from harness/cli/site/site.css and site.js.
#pragma once

namespace klab {

const char* site_style();
const char* site_script();

}  // namespace klab
