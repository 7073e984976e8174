// The site of klab as pages that link to each other: lessons, steps, ladders, traces, docs, a glossary, a search. Pages are made
// when they are asked for, from the tree and its records.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/site/glossary.h"
#include "harness/cli/site/site_frame.h"
#include "harness/cli/site/site_records.h"

namespace klab {

class SiteLadders;

struct SiteOptions {
  std::string title;                   // empty: the project's name
  std::vector<const Variant*> traced;  // CUDA rungs that get a page of `klab trace`
  int threads = 1;                     // of the host, for traces
  bool alone = false;  // each page holds style and script: for a server that allows no other files
};

class Site {
 public:
  /// Lists the pages. Throws std::runtime_error if klab's folder is not known or has neither labs nor docs.
  explicit Site(SiteOptions options);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  /// Returns the paths of all pages and files, in the order in which they are best made.
  const std::vector<std::string>& paths() const { return paths_; }
  bool has(const std::string& path) const { return makers_.contains(path); }

  /// Returns a page or file. Throws std::runtime_error for a source or record that cannot be read, std::out_of_range for a path
  /// that the site does not have.
  std::string file(const std::string& path) { return makers_.at(path)(); }

  /// Returns a step's page with `live` after its title and `extra` in its head.
  std::string step_file(const Step& step, const std::string& live, const std::string& extra);

 private:
  /// A Markdown file of the tree that is a page of the site.
  struct Source {
    std::string file, path;  // docs/measuring.md, docs/measuring.html
    const Lab* lab = nullptr;
    std::string title;
    std::unique_ptr<RenderedPage> page;
    std::set<std::string> terms;  // ids of the glossary's entries that it links to
  };

  void add(const std::string& path, std::function<std::string()> make);
  void add_sources();
  void add_source(const std::string& file, const std::string& path, const Lab* lab = nullptr);
  void add_labs();

  std::string address(const std::string& from, const std::string& target, const std::string& source) const;
  std::string picture(const std::string& from, const std::string& target, const std::string& source) const;
  PageContext context(const std::string& path);
  const Source& rendered_source(Source& source);
  std::string behind_heading(const Source& source, const std::string& heading, bool& first);
  std::string section(const std::string& from, const Variant& variant);
  std::string framed_page(const std::string& path, const std::string& title,
                          const std::vector<PageHeading>& headings, const std::string& content,
                          const std::string& extra = "") const;

  std::string source_page(Source& source);
  std::string home_cards() const;
  std::string list_of_docs();
  std::string list_of_steps();
  std::string list_of_ladders();
  std::string list_of_traces();
  std::string lab_page(const Lab& lab);
  /// The trace of a rung: the content of its page, and its pictures as one file.
  struct Traced {
    const Variant* variant = nullptr;
    std::string html, sheet;
  };
  const Traced& traced(const Variant& variant);
  std::string traced_page(const Variant& variant);
  std::string glossary_page();
  std::string search_page() const;
  std::string search_index();

  SiteOptions options_;
  SiteFrame frame_;
  std::map<std::string, std::function<std::string()>> makers_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::map<std::string, Source*> by_file_;
  std::map<std::string, std::string> pictures_;  // file in the tree -> path
  std::vector<GlossaryEntry> glossary_;
  SiteRecords records_;
  std::unique_ptr<SiteLadders> ladders_;
  Traced traced_;  // the last one
};

}  // namespace klab
