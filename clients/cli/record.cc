// `tactus blackbox save, show` and `tactus record --black-box`: has the server write its last seconds, and reads such
// files.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "clients/cli/commands.h"
#include "clients/cli/export.h"
#include "clients/cli/json.h"
#include "proto/cpp/record_file.h"

namespace tactus::cli {
namespace {

// What a summary says.
struct Summary {
  v1::RecordHeader header;
  v1::RecordEnd end;
  std::map<std::string, std::uint64_t> verdicts;  // by name
  std::vector<std::string> notes;                 // operations, events, marks worth a line
  std::uint64_t states = 0, wrenches = 0, keyframes = 0, commands = 0, first_tick = 0, last_tick = 0, records = 0;
  double first_s = 0, last_s = 0;
  std::string damage;
};

std::string verdict_name(std::uint32_t code) {
  std::string name = v1::VerdictCode_Name(static_cast<v1::VerdictCode>(code));
  return name.empty() ? "CODE_" + std::to_string(code) : name.substr(sizeof "VERDICT_" - 1);
}

void add_state(Summary& s, const v1::StatePacket& state) {
  if (s.states++ == 0) s.first_tick = state.tick(), s.first_s = state.sim_time_s();
  s.last_tick = state.tick();
  s.last_s = state.sim_time_s();
}

void add(Summary& s, const v1::Record& record) {
  const auto note = [&s](std::uint64_t tick, const std::string& text) {
    s.notes.push_back("tick " + std::to_string(tick) + ": " + text);
  };
  if (record.has_header()) s.header = record.header();
  if (record.has_state()) add_state(s, record.state());
  if (record.has_wrench()) ++s.wrenches;
  if (record.has_keyframe()) ++s.keyframes;
  if (record.has_command()) ++s.commands;
  if (record.has_verdict()) ++s.verdicts[verdict_name(record.verdict().code())];
  if (record.has_end()) s.end = record.end();
  if (record.has_operation()) {
    const v1::WorldOperation& o = record.operation();
    note(o.tick(), o.what() + (o.text().empty() ? "" : " " + o.text()) + " by " + o.client());
  }
  if (record.has_mark() &&
      (record.mark().kind() == v1::TickMark::BODY_FROZEN || record.mark().kind() == v1::TickMark::FAULT)) {
    const std::uint32_t b = record.mark().body_id();
    const bool body = record.mark().kind() == v1::TickMark::BODY_FROZEN && b < std::uint32_t(s.header.bodies_size());
    note(record.mark().tick(), v1::TickMark::Kind_Name(record.mark().kind()) +
                                   (body ? " " + s.header.bodies(static_cast<int>(b)) : std::string()));
  }
}

// Throws when it is no recording at all.
Summary read_file(const std::string& path, CsvTable* table) {
  Summary summary;
  for (int pass = 0; pass < (table == nullptr ? 1 : 2); ++pass) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw client::Error(client::Error::Kind::usage, "cannot read " + path);
    wire::RecordReader reader(in);
    v1::Record record;
    while (reader.next(record)) {
      if (pass == 0) add(summary, record);
      if (table != nullptr && pass == 0) table->first_pass(record);
      if (table != nullptr && pass == 1) table->second_pass(summary.header, record);
    }
    summary.records = reader.records();
    summary.damage = reader.damage();
    if (reader.records() == 0) throw client::Error(client::Error::Kind::usage, path + ": " + reader.damage());
  }
  return summary;
}

void print(const Summary& s) {
  std::printf("scene %s (epoch %u), model %s, step %g s, %d bodies\nwritten by %s: %s\n", s.header.scene_name().c_str(),
              s.header.scene_epoch(), s.header.model().c_str(), s.header.step_s(), s.header.bodies_size(),
              s.header.build().c_str(), s.header.reason().c_str());
  std::printf("%" PRIu64 " states, one in %u ticks: tick %" PRIu64 " (%.3f s) to %" PRIu64 " (%.3f s)\n", s.states,
              std::max(1u, s.header.state_every()), s.first_tick, s.first_s, s.last_tick, s.last_s);
  std::printf("%" PRIu64 " commands, %" PRIu64 " applied wrenches, %" PRIu64 " whole states\nverdicts:", s.commands,
              s.wrenches, s.keyframes);
  for (const auto& [name, count] : s.verdicts) std::printf(" %s %" PRIu64, name.c_str(), count);
  std::printf("%s\n", s.verdicts.empty() ? " none" : "");
  for (const std::string& note : s.notes) std::printf("%s\n", note.c_str());
  if (s.end.states_lost() + s.end.rows_lost() + s.end.bytes_overtaken() > 0)
    std::printf("lost: %" PRIu64 " states, %" PRIu64 " rows, %" PRIu64 " bytes while writing\n", s.end.states_lost(),
                s.end.rows_lost(), s.end.bytes_overtaken());
  std::printf("%s%s\n", s.damage.empty() ? "complete" : "damaged: ", s.damage.c_str());
}

void print_json(const Summary& s) {
  Json json;
  json.open('{').field("scene", s.header.scene_name()).field("model", s.header.model());
  json.field("build", s.header.build()).field("reason", s.header.reason()).field("step_s", s.header.step_s());
  json.field("bodies", static_cast<std::uint64_t>(s.header.bodies_size())).field("records", s.records);
  json.field("states", s.states).field("first_tick", s.first_tick).field("last_tick", s.last_tick);
  json.field("commands", s.commands).field("applied_wrenches", s.wrenches).field("keyframes", s.keyframes);
  json.open('{', "verdicts");
  for (const auto& [name, count] : s.verdicts) json.field(name, count);
  json.close('}').field("states_lost", s.end.states_lost()).field("rows_lost", s.end.rows_lost());
  json.field("bytes_overtaken", s.end.bytes_overtaken()).field("damage", s.damage).close('}');
  std::printf("%s\n", json.text().c_str());
}

}  // namespace

int run_blackbox_save(const Common& common, const BlackBoxOptions& options) {
  client::Client client(client_options(common, "blackbox"));
  v1::Request request;
  request.mutable_save_black_box()->set_reason(options.reason);
  const v1::BlackBoxSaved saved = client.request(std::move(request)).black_box();
  if (common.json) {
    Json json;
    json.open('{').field("path", saved.path()).field("bytes", saved.bytes()).field("records", saved.records());
    json.field("first_tick", saved.first_tick()).field("last_tick", saved.last_tick()).close('}');
    std::printf("%s\n", json.text().c_str());
  } else {
    std::printf("ticks %" PRIu64 " to %" PRIu64 ", %" PRIu64 " records in %" PRIu64 " bytes, on the server: %s\n",
                saved.first_tick(), saved.last_tick(), saved.records(), saved.bytes(), saved.path().c_str());
  }
  return 0;
}

int run_record_start(const Common& common, const RecordOptions& options) {
  client::Client client(client_options(common, "record"));
  v1::Request request;
  request.mutable_start_recording()->set_name(options.name);
  request.mutable_start_recording()->set_state_hz(options.state_hz);
  const v1::Recorded recording = client.request(std::move(request)).recording();
  if (common.json)
    std::printf("%s\n", Json().open('{').field("path", recording.path()).close('}').text().c_str());
  else
    std::printf("recording, on the server: %s\n", recording.path().c_str());
  return 0;
}

int run_record_stop(const Common& common, const RecordOptions&) {
  client::Client client(client_options(common, "record"));
  v1::Request request;
  request.mutable_stop_recording();
  const v1::Recorded r = client.request(std::move(request)).recording();
  if (common.json) {
    Json json;
    json.open('{').field("path", r.path()).field("bytes", r.bytes()).field("records", r.records());
    json.field("first_tick", r.first_tick()).field("last_tick", r.last_tick());
    json.field("bytes_overtaken", r.bytes_overtaken()).close('}');
    std::printf("%s\n", json.text().c_str());
  } else {
    std::printf("ticks %" PRIu64 " to %" PRIu64 ", %" PRIu64 " records in %" PRIu64 " bytes, on the server: %s\n",
                r.first_tick(), r.last_tick(), r.records(), r.bytes(), r.path().c_str());
    if (r.bytes_overtaken() > 0)
      std::printf("lost: %" PRIu64 " bytes, because the disk was too slow\n", r.bytes_overtaken());
  }
  return 0;
}

int run_blackbox_show(const Common& common, const BlackBoxOptions& options) {
  const std::unique_ptr<CsvTable> table = options.csv.empty() ? nullptr : std::make_unique<CsvTable>(options.csv);
  const Summary summary = read_file(options.file, table.get());
  if (table) table->finish();
  common.json ? print_json(summary) : print(summary);
  return summary.damage.empty() ? 0 : 1;
}

}  // namespace tactus::cli
