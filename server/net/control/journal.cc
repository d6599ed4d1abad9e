#include "server/net/control/journal.h"

#include <utility>

#include "proto/cpp/utf8.h"
#include "realtime.pb.h"
#include "record.pb.h"

namespace tactus::net {
namespace {

bool is_heartbeat(const v1::CommandPacket& packet) {
  return packet.ByteSizeLong() > 0 && packet.body_id_size() == 0 && packet.joint_id_size() == 0 && packet.robot() == 0;
}

}  // namespace

void Journal::received(const std::string& client, std::uint64_t sequence, std::span<const std::uint8_t> payload,
                       std::uint64_t now_ns) {
  if (recorder_ == nullptr || payload.empty()) return;
  v1::Record record;
  v1::ReceivedCommand* command = record.mutable_command();
  if (!command->mutable_packet()->ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    command->clear_packet();
  } else if (is_heartbeat(command->packet())) {
    return;
  }
  command->set_client(client);
  command->set_sequence(sequence);
  command->set_received_ns(now_ns);
  command->set_tick(status_.newest.tick);
  recorder_->add(std::move(record));
}

void Journal::verdict(const std::string& client, const VerdictRecord& verdict) {
  if (recorder_ == nullptr) return;
  v1::Record record;
  v1::GivenVerdict* given = record.mutable_verdict();
  given->set_client(client);
  given->set_sequence(verdict.sequence);
  given->set_code(verdict.code);
  given->set_tick(verdict.tick);
  given->set_age_us(verdict.age_us);
  given->set_item(verdict.item);
  recorder_->add(std::move(record));
}

void Journal::event(const v1::Event& event) {
  if (recorder_ == nullptr) return;
  v1::Record record;
  *record.mutable_event() = event;
  recorder_->add(std::move(record));
}

void Journal::note(const std::string& what, const std::string& text, const std::string& client) {
  if (recorder_ == nullptr) return;
  v1::Record record;
  v1::WorldOperation* operation = record.mutable_operation();
  operation->set_tick(status_.newest.tick);
  operation->set_what(what);
  operation->set_text(wire::as_utf8(text));
  operation->set_client(client);
  recorder_->add(std::move(record));
}

void Journal::injected(const std::string& client, bool down, std::uint64_t number, std::uint32_t fate) {
  if (recorder_ == nullptr) return;
  v1::Record record;
  v1::InjectedFault* fault = record.mutable_injected();
  fault->set_client(client);
  fault->set_down(down);
  fault->set_number(number);
  fault->set_tick(status_.newest.tick);
  fault->set_delay_us(fate / 8);
  fault->set_lost((fate & 1) != 0);
  fault->set_duplicated((fate & 2) != 0);
  fault->set_reordered((fate & 4) != 0);
  recorder_->add(std::move(record));
}

}  // namespace tactus::net
