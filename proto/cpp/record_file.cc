#include "proto/cpp/record_file.h"

#include <google/protobuf/descriptor.h>

#include <string_view>

namespace tactus::wire {

bool RecordReader::fail(const std::string& what) {
  damage_ = what;
  return false;
}

// Channels of others in the file are passed over.
const google::protobuf::FieldDescriptor* RecordReader::field_of(std::uint16_t channel) {
  if (channel < known_.size() && known_[channel]) return fields_[channel];
  if (channel >= known_.size()) {
    known_.resize(channel + 1u, false);
    fields_.resize(channel + 1u, nullptr);
  }
  known_[channel] = true;
  const mcap::ChannelInfo& info = file_.channel(channel);
  const std::string_view prefix(kTopicPrefix), topic(info.topic);
  if (topic.substr(0, prefix.size()) != prefix || info.encoding != "protobuf") return nullptr;
  const auto* field = v1::Record::descriptor()->FindFieldByName(std::string(topic.substr(prefix.size())));
  const bool ours =
      field != nullptr && field->containing_oneof() != nullptr && field->message_type()->full_name() == info.schema;
  return fields_[channel] = ours ? field : nullptr;
}

bool RecordReader::next(v1::Record& out) {
  mcap::Message message;
  while (!damaged() && file_.next(message)) {
    const google::protobuf::FieldDescriptor* field = field_of(message.channel);
    if (field == nullptr) continue;
    if (records_ == 0 && field->number() != v1::Record::kHeaderFieldNumber)
      return fail("not a recording of Tactus: it does not begin with a header");
    out.Clear();
    google::protobuf::Message* body = out.GetReflection()->MutableMessage(&out, field);
    if (!body->ParseFromArray(message.data.data(), static_cast<int>(message.data.size())))
      return fail("at byte " + std::to_string(file_.offset()) + ": a message of " +
                  file_.channel(message.channel).topic + " that does not decode");
    time_ns_ = message.time_ns;
    ++records_;
    return true;
  }
  if (!damaged() && records_ == 0)
    return fail("not a recording of Tactus: " +
                (file_.damaged() ? file_.damage() : "an MCAP file without channel tactus/header"));
  if (!damaged()) damage_ = file_.damage();
  return false;
}

}  // namespace tactus::wire
