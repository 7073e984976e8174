// The page of the live view: the files next to this one, as strings.
#pragma once

namespace klab::live_page {

const char* html();    // with {{style}} and {{script}}
const char* style();   // page.css
const char* script();  // page.js

}  // namespace klab::live_page
