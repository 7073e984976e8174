# The report's style sheet and script, as strings in the program: a report is one file, and so is the program.
set(KLAB_REPORT_CSS_FILE ${KLAB_HOME}/reports/report.css)
set(KLAB_REPORT_JS_FILE ${KLAB_HOME}/reports/report.js)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KLAB_REPORT_CSS_FILE} ${KLAB_REPORT_JS_FILE})
file(READ ${KLAB_REPORT_CSS_FILE} KLAB_REPORT_CSS)
file(READ ${KLAB_REPORT_JS_FILE} KLAB_REPORT_JS)
configure_file(${KLAB_HOME}/cmake/report_assets.cpp.in ${PROJECT_BINARY_DIR}/generated/report_assets.cpp @ONLY)
target_sources(klab_report PRIVATE ${PROJECT_BINARY_DIR}/generated/report_assets.cpp)
