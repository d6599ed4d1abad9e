// A recording as another build might have left it: a text of its scene or config is replaced by another, the build is
// another one, and all CRCs are right. usage: tactus_record_forge IN OUT FROM TO
#include <cstdio>
#include <fstream>

#include "proto/cpp/record_file.h"
#include "server/record/record_writer.h"

int main(int argc, char** argv) {
  using namespace tactus;
  if (argc != 5) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  wire::RecordReader reader(in);
  v1::Record record;
  if (!reader.next(record)) return 1;
  v1::RecordHeader header = record.header();
  const std::string from = argv[3], to = argv[4];
  std::size_t replaced = 0;
  for (std::string* text : {header.mutable_scene(), header.mutable_config()})
    for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size(), ++replaced)
      text->replace(at, from.size(), to);
  header.set_build("tactusd 0.0.0 (forged)");
  record::RecordWriter writer(header);
  v1::RecordEnd end;
  while (reader.next(record)) {
    if (record.has_end())
      end = record.end();
    else
      writer.add(record, reader.time_ns());
  }
  writer.finish(end, reader.time_ns());
  std::ofstream(argv[2], std::ios::binary) << writer.take();
  if (reader.damaged() || replaced == 0) std::fprintf(stderr, "%s; %zu replaced\n", reader.damage().c_str(), replaced);
  return reader.damaged() || replaced == 0 ? 1 : 0;
}
