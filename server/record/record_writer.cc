#include "server/record/record_writer.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <map>
#include <set>
#include <vector>

#include "core/check.h"
#include "proto/cpp/record_file.h"

namespace tactus::record {
namespace {

namespace pb = google::protobuf;

// The outermost message or enum that a type stands in: what a pruned file must keep.
template <typename Type>
const void* outermost(const Type* type) {
  if (type->containing_type() == nullptr) return type;
  const pb::Descriptor* out = type->containing_type();
  while (out->containing_type() != nullptr) out = out->containing_type();
  return out;
}

class Closure {
 public:
  explicit Closure(const pb::Descriptor& root) { add(&root); }
  void write(pb::FileDescriptorSet& out) const {
    std::set<const pb::FileDescriptor*> done;
    for (const pb::FileDescriptor* file : files_) write(file, done, out);
  }

 private:
  void add(const pb::Descriptor* type) {
    if (!seen_.insert(type).second) return;
    const pb::Descriptor* top = type;
    while (top->containing_type() != nullptr) top = top->containing_type();
    kept_.insert(top);
    files_.push_back(type->file());
    if (top != type) add(top);
    for (int i = 0; i < type->nested_type_count(); ++i) add(type->nested_type(i));
    for (int i = 0; i < type->field_count(); ++i) {
      const pb::FieldDescriptor* field = type->field(i);
      if (field->message_type() != nullptr) add(field->message_type());
      if (field->enum_type() != nullptr) {
        kept_.insert(outermost(field->enum_type()));
        files_.push_back(field->enum_type()->file());
      }
    }
  }
  void write(const pb::FileDescriptor* file, std::set<const pb::FileDescriptor*>& done,
             pb::FileDescriptorSet& out) const {
    if (!done.insert(file).second) return;
    for (int i = 0; i < file->dependency_count(); ++i) write(file->dependency(i), done, out);
    pb::FileDescriptorProto* proto = out.add_file();
    pb::FileDescriptorProto whole;
    file->CopyTo(&whole);
    *proto = whole;
    proto->clear_message_type();
    proto->clear_enum_type();
    for (int i = 0; i < file->message_type_count(); ++i)
      if (kept_.count(file->message_type(i)) > 0) *proto->add_message_type() = whole.message_type(i);
    for (int i = 0; i < file->enum_type_count(); ++i)
      if (kept_.count(file->enum_type(i)) > 0) *proto->add_enum_type() = whole.enum_type(i);
  }

  std::set<const void*> seen_, kept_;
  std::vector<const pb::FileDescriptor*> files_;
};

}  // namespace

std::string descriptor_set(const pb::Descriptor& type) {
  pb::FileDescriptorSet set;
  Closure(type).write(set);
  return set.SerializeAsString();
}

RecordWriter::RecordWriter(const v1::RecordHeader& header) : file_({header.build()}) {
  channels_.fill(-1);
  add_channels();
  v1::Record first;
  *first.mutable_header() = header;
  put(first, header.written_unix_ns());
  std::map<std::string, std::string> facts{{"build", header.build()},
                                           {"scene", header.scene_name()},
                                           {"model", header.model()},
                                           {"reason", header.reason()},
                                           {"seed", std::to_string(header.seed())},
                                           {"step_s", std::to_string(header.step_s())}};
  for (const v1::Parameter& p : header.parameters()) facts["set " + p.key()] = p.value();
  file_.add_metadata("tactus", facts);
  file_.add_attachment("scene.toml", "application/toml", header.written_unix_ns(), header.scene());
  file_.add_attachment("config.toml", "application/toml", header.written_unix_ns(), header.config());
}

void RecordWriter::add_channels() {
  const pb::OneofDescriptor* kinds = v1::Record::descriptor()->oneof_decl(0);
  for (int i = 0; i < kinds->field_count(); ++i) {
    const pb::FieldDescriptor* field = kinds->field(i);
    TACTUS_ASSERT(field->number() < static_cast<int>(kKinds));
    const std::uint16_t schema =
        file_.add_schema(field->message_type()->full_name(), "protobuf", descriptor_set(*field->message_type()));
    channels_[static_cast<std::size_t>(field->number())] =
        file_.add_channel(schema, wire::kTopicPrefix + field->name(), "protobuf");
  }
}

void RecordWriter::put(const v1::Record& record, std::uint64_t time_ns) {
  TACTUS_ASSERT(record.body_case() != v1::Record::BODY_NOT_SET);
  const int number = static_cast<int>(record.body_case());
  const pb::FieldDescriptor* field = v1::Record::descriptor()->FindFieldByNumber(number);
  scratch_.clear();
  record.GetReflection()->GetMessage(record, field).AppendToString(&scratch_);
  file_.add_message(static_cast<std::uint16_t>(channels_[static_cast<std::size_t>(number)]), time_ns, scratch_);
  ++records_;
}

std::uint16_t RecordWriter::add_channel(const std::string& topic, const pb::Descriptor& type) {
  return file_.add_channel(file_.add_schema(type.full_name(), "protobuf", descriptor_set(type)), topic, "protobuf");
}

void RecordWriter::add(std::uint16_t channel, const pb::Message& message, std::uint64_t time_ns) {
  scratch_.clear();
  message.AppendToString(&scratch_);
  file_.add_message(channel, time_ns, scratch_);
}

void RecordWriter::add(const v1::Record& record, std::uint64_t time_ns) {
  TACTUS_ASSERT(!record.has_header() && !record.has_end());
  put(record, time_ns);
}

void RecordWriter::finish(v1::RecordEnd end, std::uint64_t time_ns) {
  end.set_records(records_);
  v1::Record last;
  *last.mutable_end() = std::move(end);
  put(last, time_ns);
  file_.finish();
}

}  // namespace tactus::record
