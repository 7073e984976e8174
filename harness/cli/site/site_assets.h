// Style and script of the site beyond those of the report, from the files next to this one.
#pragma once

namespace klab {

const char* site_style();
const char* site_script();
const char* step_live_script();  // of the page of klab step --page

}  // namespace klab
