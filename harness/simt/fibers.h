// Runs the threads of a block as fibers. A fiber runs one thread until it waits or ends. A fiber whose thread ended
// continues with the next thread of its warp that has not started, so a kernel without barriers needs only one fiber.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/simt/running_block.h"

namespace klab::simt {

class Fibers : public RunningBlock {
 public:
  // The next functions are called on a fiber.
  void let_others_run();
  /// Ends the launch; the running thread is never resumed. The finding is placed at the thread of `lane`, or of the running one.
  [[noreturn]] void abandon(Finding finding, const Lane* lane = nullptr);
  /// The same for code that runs when lanes have met, in no thread.
  [[noreturn]] void end_launch(Finding finding);
  /// Waits until all earlier blocks have ended. Called before any operation whose result other blocks can
  /// influence.
  void in_turn() {
    if (!its_turn) wait_for_turn();
  }
  /// Does the same before an access, unless it is to memory of the thread or of the block.
  void in_turn(const void* p) {
    if (!its_turn && !is_the_blocks(p)) wait_for_turn();
  }

 protected:
  Fibers() : order_(1024) {}
  ~Fibers();

  /// Runs a lane until it waits, or until it ends and its warp has no fresh lane left.
  void resume(Lane& lane);
  /// Lets the running thread wait: runs the next one, or goes back to the scheduler.
  void suspend();
  /// Returns the next lane of the warp that has not started; nullptr if there is none.
  Lane* next_fresh(unsigned warp);
  /// Makes all fibers idle again. After an aborted launch they are suspended in threads that will never be resumed.
  void reset_fibers();
  /// Leaves a block whose launch ended in an earlier block. Its results are not used.
  [[noreturn]] void give_up();

  // position among the lanes of a warp that continue in turn
  unsigned scan_ = 0, scan_first_ = 0, scan_end_ = 0;
  unsigned fresh_from_ = 0;
  bool yielded_ = false;        // a lane has yielded
  std::vector<uint8_t> order_;  // order in which the lanes of a warp begin
  bool aborted_ = false;
  bool given_up_ = false;  // the launch ended before this block
  Finding fatal_;

 private:
  Fiber* idle_fiber();
  static void fiber_main(boost::context::detail::transfer_t from);
  /// Returns the next suspended lane in the running warp's turn that is ready.
  Lane* next_ready();
  void wait_for_turn();
  /// Goes back to the scheduler from a thread that is never resumed.
  [[noreturn]] void leave();

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
};

}  // namespace klab::simt
