// The reader of recordings, with any bytes: it reads what is whole, says where it stops, and takes no more memory than
// the file is long. Bytes of records that are whole are written again as they were.
#include <cstdlib>
#include <sstream>

#include "proto/record_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tactus;
  // Bytes as they are; and bytes as one record of a sound file, which gets past the CRC.
  std::istringstream raw(std::string(reinterpret_cast<const char*>(data), size));
  wire::RecordReader reader(raw);
  v1::Record record;
  while (reader.next(record)) {
  }
  if (reader.offset() > size) std::abort();
  if (!reader.damaged() && reader.offset() != size) std::abort();

  v1::Record header, body;
  header.mutable_header();
  if (!body.ParseFromArray(data, static_cast<int>(size))) return 0;
  body.clear_crc();
  std::string file;
  wire::append_record(header, file);
  wire::append_record(body, file);
  std::istringstream sound(file);
  wire::RecordReader again(sound);
  if (!again.next(record) || !again.next(record) || again.next(header) || again.damaged()) std::abort();
  if (record.SerializeAsString() != body.SerializeAsString()) std::abort();
  return 0;
}
