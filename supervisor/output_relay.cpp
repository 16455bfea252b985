#include "supervisor/output_relay.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include "contract/decimal.hpp"

namespace quietus {
namespace {

// A large pipe lets the worker run ahead while we are busy ending others.
constexpr int kPipeSize = 1 << 20;
constexpr std::size_t kChunk = std::size_t{1} << 18;
// However little is kept, a full pipe is read out in a few reads.
constexpr std::uint64_t kSmallestRing = std::uint64_t{1} << 16;
constexpr int kReadsPerTurn = 64;
// What a pipe can still hold when everybody is gone, with a wide margin for writers that are not.
constexpr int kReadsAtTheEnd = 1024;

std::uint64_t tail_limit_of(std::uint64_t limit) { return limit - limit / 2; }

std::uint64_t ring_size_of(std::uint64_t limit) {
  return std::max(tail_limit_of(limit), kSmallestRing);
}

sys::Result<sys::Pipe> make_pipe(sys::Gate& gate) {
  auto ends = sys::pipe(gate);
  if (!ends) return ends;
  if (const auto set = sys::set_nonblocking(gate, ends->first.get()); !set) {
    return tl::unexpected(set.error());
  }
  (void)sys::set_pipe_size(gate, ends->first.get(), kPipeSize);  // as large as the user may have it
  return ends;
}

}  // namespace

sys::Result<OutputRelay> OutputRelay::create(sys::Gate& gate, sys::UniqueFd file,
                                             std::uint64_t limit) {
  auto worker = make_pipe(gate);
  if (!worker) return tl::unexpected(worker.error());
  auto batch = make_pipe(gate);
  if (!batch) return tl::unexpected(batch.error());
  const auto memory = sys::map_shared(gate, sizeof(State) + ring_size_of(limit));
  if (!memory) return tl::unexpected(memory.error());
  return OutputRelay(std::move(*worker), std::move(*batch), std::move(file), new (*memory) State,
                     limit);
}

OutputRelay::OutputRelay(sys::Pipe worker, sys::Pipe batch, sys::UniqueFd file, State* state,
                         std::uint64_t limit)
    : worker_(std::move(worker)),
      batch_(std::move(batch)),
      file_(std::move(file)),
      state_(state),
      ring_(reinterpret_cast<char*>(state + 1)),
      head_limit_(limit / 2),
      tail_limit_(tail_limit_of(limit)),
      ring_size_(ring_size_of(limit)) {}

bool OutputRelay::drain(sys::Gate& gate) {
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    // The batch first: the other half may have left one.
    if (take(gate, batch_.first.get())) continue;
    if (sys::splice(gate, worker_.first.get(), batch_.second.get(), kPipeSize).value_or(0) > 0) {
      continue;
    }
    // Nothing there, or no splice(2) here.
    if (!take(gate, worker_.first.get())) return false;
  }
  return true;
}

bool OutputRelay::take(sys::Gate& gate, int from) {
  return state_->head < head_limit_ ? take_head(gate, from) : take_tail(gate, from);
}

// The ring is free until the head is full, so it serves as the buffer.
bool OutputRelay::take_head(sys::Gate& gate, int from) {
  const std::uint64_t room = std::min(head_limit_ - state_->head, ring_size_);
  const auto got = sys::read(gate, from, {ring_, std::min<std::size_t>(room, kChunk)});
  if (!got || *got == 0) return false;
  to_file(gate, {ring_, *got});
  state_->last_of_head = ring_[*got - 1];
  state_->head += *got;
  state_->total += *got;
  return true;
}

bool OutputRelay::take_tail(sys::Gate& gate, int from) {
  const std::uint64_t at = tail_total() % ring_size_;
  const auto got =
      sys::read(gate, from, {ring_ + at, std::min<std::size_t>(ring_size_ - at, kChunk)});
  if (!got || *got == 0) return false;
  state_->total += *got;
  return true;
}

// A full disk costs bytes, not the run: the first error is told at the end.
void OutputRelay::to_file(sys::Gate& gate, std::string_view bytes) {
  const auto written = sys::write_all(gate, file_.get(), bytes);
  if (!written && state_->write_error == 0) state_->write_error = written.error().code;
}

std::uint64_t OutputRelay::bytes_cut() const {
  return tail_total() > tail_limit_ ? tail_total() - tail_limit_ : 0;
}

sys::Result<sys::Unit> OutputRelay::finish(sys::Gate& gate) {
  for (int turns = 0; turns < kReadsAtTheEnd / kReadsPerTurn && drain(gate); ++turns) {
  }
  if (state_->finished == 0) {
    state_->finished = 1;
    if (bytes_cut() > 0) {
      std::string notice = state_->last_of_head == '\n' ? "" : "\n";
      notice += "[quietus: " + decimal(bytes_cut()) + " bytes cut]\n";
      to_file(gate, notice);
    }
    const std::uint64_t kept = std::min(tail_total(), tail_limit_);
    const std::uint64_t oldest = (tail_total() - kept) % ring_size_;
    const std::uint64_t before_the_wrap = std::min(kept, ring_size_ - oldest);
    to_file(gate, {ring_ + oldest, before_the_wrap});
    to_file(gate, {ring_, kept - before_the_wrap});
  }
  if (state_->write_error != 0) {
    return tl::unexpected(sys::Error{state_->write_error, "write"});
  }
  return sys::Unit{};
}

}  // namespace quietus
