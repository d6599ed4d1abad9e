// `tactus`: the command line. Only this file includes CLI11, which is slow to compile.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <functional>

#include "clients/cli/commands.h"
#include "clients/cli/json.h"

namespace {

using namespace tactus::cli;

// CLI::Range lets what is not a number pass.
CLI::Validator number_in(double least, double most) {
  const CLI::Range range(least, most);
  const auto check = [range](std::string& text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? "found " + text + ", expected a number" : range(text);
  };
  return {check, range.get_description()};
}

// The subcommand that was chosen, ready to run.
struct Chosen {
  Common common;
  std::function<int(const Common&)> run;
};

// "1,2,3" as three numbers.
tactus::client::Vec3 three_numbers(const std::string& text) {
  tactus::client::Vec3 out{};
  int used = 0;
  if (std::sscanf(text.c_str(), "%lf,%lf,%lf%n", &out[0], &out[1], &out[2], &used) != 3 ||
      static_cast<std::size_t>(used) != text.size())
    throw CLI::ValidationError("'" + text + "' is not three numbers like 0,0,-50");
  for (const double x : out)
    if (!(x > -1e12 && x < 1e12)) throw CLI::ValidationError("'" + text + "' is not finite");
  return out;
}

// KEY=VALUE, or what is wrong with it.
std::string not_a_setting(const std::string& s) {
  const auto equals = s.find('=');
  return equals == std::string::npos || equals == 0 ? "'" + s + "' is not KEY=VALUE" : std::string();
}

// A subcommand with the options that all have, its examples, and what runs it.
template <class Options>
CLI::App* add(CLI::App& app, Chosen& chosen, const char* name, const char* what, const char* examples,
              int (*run)(const Common&, const Options&), const std::shared_ptr<Options>& options) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->add_option("--host", chosen.common.host, "server: HOST, HOST:PORT or [V6]:PORT (default 127.0.0.1:17800)");
  sub->add_option("--token-file", chosen.common.token_file, "file with the server's token");
  sub->add_flag("--json", chosen.common.json, "print JSON instead of text");
  sub->footer(std::string("Examples:\n") + examples + "\nExit: 0 success, 1 failed, 2 usage.");
  sub->callback(
      [&chosen, run, options] { chosen.run = [run, options](const Common& common) { return run(common, *options); }; });
  return sub;
}

struct NoOptions {};
int status_of(const Common& common, const NoOptions&) {
  return run_status(common);
}

void add_looking(CLI::App& app, Chosen& chosen) {
  add<NoOptions>(app, chosen, "status", "One summary: scene, rate, lateness, work, contacts, clients, rights",
                 "  tactus status\n  tactus status --json | jq .work_us.p99", status_of, std::make_shared<NoOptions>());

  auto watch = std::make_shared<WatchOptions>();
  CLI::App* sub = add(app, chosen, "watch", "The beat, live: bars on a terminal, a line a second otherwise",
                      "  tactus watch\n  tactus watch --seconds 10 --json >beat.jsonl\n"
                      "  tactus watch --shadow st        how far is the model in charge from st?",
                      run_watch, watch);
  sub->add_option("--seconds", watch->seconds, "stop after so long (default: at Ctrl-C)")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* shadow = sub->add_option("--shadow", watch->shadow,
                                        "start this model as the shadow (off: end it); it stays when watch ends");
  sub->add_option("--shadow-hz", watch->shadow_hz, "its steps a second (default: the server's setting)")
      ->needs(shadow)
      ->check(CLI::NonNegativeNumber);

  auto joints = std::make_shared<JointsOptions>();
  sub = add(app, chosen, "joints", "Joints of robots: where they are, what acts on them, what was missed",
            "  tactus joints\n  tactus joints arm/elbow --json\n  tactus joints --recover arm", run_joints, joints);
  sub->add_option("names", joints->names, "robots or robot/joint (default: all)");
  sub->add_option("--recover", joints->recover, "clear the latched fault of this robot first");
  sub->add_flag("--take-over", joints->take_over, "take the leases from their holder")->needs("--recover");

  auto scenes = std::make_shared<ScenesOptions>();
  sub = add(app, chosen, "scenes", "Lists the scenes the server can show; with --load, shows one",
            "  tactus scenes\n  tactus scenes --load pile --set n=64", run_scenes, scenes);
  CLI::Option* load = sub->add_option("--load", scenes->load, "name of a scene");
  sub->add_option("--set", scenes->set, "scene parameter KEY=VALUE, may be repeated")
      ->needs(load)
      ->check(not_a_setting);
  sub->add_option("--seed", scenes->seed, "seed of what the scene draws at random")->needs(load);
  sub->add_flag("--take-over", scenes->take_over, "take the lease \"world\" from its holder");
}

void add_driving(CLI::App& app, Chosen& chosen) {
  auto push = std::make_shared<PushOptions>();
  CLI::App* sub =
      add(app, chosen, "push", "Pushes a body for a while; tells what became of each command, and how far it moved",
          "  tactus push crate --force 0,0,-50\n"
          "  tactus push crate --force 5,0,0 --at 0,0,0.1 --frame body --for-s 2\n"
          "  tactus push wheel --torque 0,0,1 --rate-hz 200",
          run_push, push);
  sub->add_option("body", push->body, "name of the body")->required();
  CLI::Option* force = sub->add_option_function<std::string>(
      "--force", [push](const std::string& s) { push->force = three_numbers(s); }, "X,Y,Z in newtons");
  CLI::Option* torque = sub->add_option_function<std::string>(
      "--torque", [push](const std::string& s) { push->torque = three_numbers(s); }, "X,Y,Z in newton metres");
  sub->add_option_function<std::string>(
      "--at", [push](const std::string& s) { push->at = three_numbers(s); },
      "where the force acts: x,y,z in metres in the body's frame (default: mass centre)");
  sub->add_option("--frame", push->frame, "components in the world's or the body's frame")
      ->check(CLI::IsMember({"world", "body"}));
  sub->add_option("--for-s", push->for_s, "how long, seconds (default 0.5)")->check(number_in(0.001, 86400.0));
  sub->add_option("--rate-hz", push->rate_hz, "commands per second (default 1000)")->check(number_in(10.0, 5000.0));
  sub->add_flag("--take-over", push->take_over, "take the lease from its holder");
  sub->parse_complete_callback([force, torque] {
    if (force->count() + torque->count() == 0)
      throw CLI::ValidationError("push needs --force or --torque, for example --force 0,0,-50");
  });

  auto claim = std::make_shared<ClaimOptions>();
  sub = add(app, chosen, "claim", "Takes leases and holds them until Ctrl-C, so that nobody else can drive",
            "  tactus claim crate            # body/crate/wrench\n  tactus claim world crate --take-over", run_claim,
            claim);
  sub->add_option("channels", claim->channels, "body names, \"world\", or full channels")->required();
  sub->add_option("--seconds", claim->seconds, "let go after so long")->check(CLI::NonNegativeNumber);
  sub->add_flag("--take-over", claim->take_over, "take them from their holder");
}

void add_model(CLI::App& app, Chosen& chosen) {
  auto model = std::make_shared<ModelOptions>();
  CLI::App* sub = add(app, chosen, "model", "The contact model in charge; with NAME, another, while the world runs",
                      "  tactus model\n  tactus model st\n  tactus model peg --set peg.form=printed", run_model, model);
  sub->add_option("name", model->name, "penalty, deepest, lcp, st, ap, lnc or peg");
  sub->add_option("--set", model->set, "run-time parameter KEY=VALUE, may be repeated; set before the model takes over")
      ->check(not_a_setting);
  sub->add_flag("--take-over", model->take_over, "take the lease \"world\" from its holder");
}

void add_world(CLI::App& app, Chosen& chosen) {
  struct Row {
    const char *name, *what, *examples;
    int (*run)(const Common&, const WorldOptions&);
  };
  static constexpr Row kRows[] = {
      {"step", "Runs N ticks of a paused or lockstep world", "  tactus pause && tactus step 10", run_step},
      {"pause", "Stops simulated time until `tactus resume`; the beat and the streams go on", "  tactus pause",
       run_pause},
      {"resume", "Lets simulated time run again", "  tactus resume\n  tactus resume --force   # whoever paused it",
       run_resume},
      {"lockstep", "on: the world waits for grants, also when this command has ended; off: it runs freely",
       "  tactus lockstep on && tactus step 10\n  tactus lockstep off --force    # whoever holds \"world\"",
       run_lockstep},
      {"stop", "Ends every command of every client, and all leases but \"world\"; needs none. The world runs on",
       "  tactus stop", run_stop},
      {"reset", "Puts the scene back to its beginning", "  tactus reset", run_reset},
      {"snapshot", "Keeps the whole state under a name, and in a file with --out",
       "  tactus snapshot before\n  tactus snapshot before --out before.snapshot", run_snapshot},
      {"restore", "Goes back to a snapshot", "  tactus restore before\n  tactus restore --in before.snapshot",
       run_restore}};
  for (const Row& row : kRows) {
    auto options = std::make_shared<WorldOptions>();
    CLI::App* sub = add(app, chosen, row.name, row.what, row.examples, row.run, options);
    const std::string name = row.name;
    if (name == "step") sub->add_option("ticks", options->ticks, "how many (default 1)")->check(CLI::Range(1, 10000));
    if (name == "stop") continue;
    if (name == "pause")
      sub->add_flag("--keep", options->keep, "it stays when this command has ended (always so: it ends at once)");
    if (name == "lockstep")
      sub->add_option_function<std::string>(
             "mode", [options](const std::string& s) { options->on = s == "on"; }, "on or off")
          ->required()
          ->check(CLI::IsMember({"on", "off"}));
    if (name == "resume" || name == "lockstep")
      sub->add_flag("--force", options->force,
                    name == "resume" ? "without the lease \"world\", whoever holds it"
                                     : "off without the lease \"world\", whoever holds it");
    if (name == "snapshot") {
      sub->add_option("name", options->name, "name it is kept under")->required();
      sub->add_option("--out", options->file, "also write it to this file");
      continue;  // looking needs no lease
    }
    if (name == "restore") {
      CLI::Option* kept = sub->add_option("name", options->name, "a name given to snapshot");
      CLI::Option* file = sub->add_option("--in", options->file, "a file written by snapshot --out")->excludes(kept);
      sub->parse_complete_callback([kept, file] {
        if (kept->count() + file->count() == 0) throw CLI::ValidationError("restore needs a NAME or --in FILE");
      });
    }
    sub->add_flag("--take-over", options->take_over, "take the lease \"world\" from its holder");
  }
}

// `record start`, `record stop`, and for scripts of before `record --black-box`.
void add_record(CLI::App& app, Chosen& chosen) {
  auto box = std::make_shared<BlackBoxOptions>();
  CLI::App* record = add(app, chosen, "record", "Has the server record all that comes to a file on its machine",
                         "  tactus record start --name grasp\n  tactus record stop\n  tactus record --black-box",
                         run_blackbox_save, box);
  record->add_flag("--black-box", box->black_box, "the last seconds, as blackbox save");
  record->add_option("--reason", box->reason, "of --black-box: part of the file's name (default: request)");
  auto start = std::make_shared<RecordOptions>();
  CLI::App* sub =
      add(*record, chosen, "start", "Begins a recording in the folder that the server's config names",
          "  tactus record start\n  tactus record start --name grasp --state-hz 100", run_record_start, start);
  sub->add_option("--name", start->name, "part of the file's name (default: recording)");
  sub->add_option("--state-hz", start->state_hz, "states a second of simulated time (default: the server's choice)")
      ->check(number_in(0.0, 1000.0));
  CLI::App* stop = add(*record, chosen, "stop", "Ends it, and says what it holds", "  tactus record stop",
                       run_record_stop, std::make_shared<RecordOptions>());
  record->callback([&chosen, box, sub, stop] {  // after those of start and stop
    if (sub->parsed() || stop->parsed()) return;
    chosen.run = [box](const Common& common) { return run_blackbox_save(common, *box); };
  });
  record->parse_complete_callback([box, sub, stop] {
    if (!box->black_box && !sub->parsed() && !stop->parsed())
      throw CLI::ValidationError("record needs start, stop or --black-box");
  });
}

void add_recording(CLI::App& app, Chosen& chosen) {
  CLI::App* box = app.add_subcommand("blackbox", "The server's last seconds: has them written to a file, and reads it");
  box->require_subcommand(1);
  auto save = std::make_shared<BlackBoxOptions>();
  CLI::App* sub = add(*box, chosen, "save", "Has the server write its last seconds to a file on its machine",
                      "  tactus blackbox save\n  tactus blackbox save --reason it-jumped", run_blackbox_save, save);
  sub->add_option("--reason", save->reason, "part of the file's name (default: request)");

  auto show = std::make_shared<BlackBoxOptions>();
  sub = add(*box, chosen, "show", "Says what stands in such a file; with --csv, all of its states as a table",
            "  tactus blackbox show FILE\n  tactus blackbox show FILE --csv states.csv", run_blackbox_show, show);
  sub->add_option("file", show->file, "a file that a server wrote")->required();
  sub->add_option("--csv", show->csv, "write one row per state and body to this file");

  add_record(app, chosen);
  auto out = std::make_shared<ExportOptions>();
  sub = add(
      app, chosen, "export", "Writes a recording as a table or as NumPy arrays",
      "  tactus export run.mcap --csv run.csv\n  tactus export run.mcap --npz run.npz     # numpy.load(\"run.npz\")",
      run_export, out);
  sub->add_option("file", out->file, "a recording, or a black box's file")->required();
  CLI::Option* csv = sub->add_option("--csv", out->csv, "one row per state and body, with what acted on it");
  CLI::Option* npz = sub->add_option("--npz", out->npz, "tick, time_s, pose, velocity, wrench, joint_q ... as arrays");
  sub->parse_complete_callback([csv, npz] {
    if (csv->count() + npz->count() == 0) throw CLI::ValidationError("export needs --csv FILE or --npz FILE");
  });
}

void add_play(CLI::App& app, Chosen& chosen) {
  auto play = std::make_shared<PlayOptions>();
  CLI::App* sub = add(app, chosen, "play", "Moves through the recording that a server plays (tactusd --play FILE)",
                      "  tactus play                  where is it?\n  tactus play --seek 12.5 --speed 0.25\n"
                      "  tactus play --seek -2 --pause    two seconds back, and stand\n  tactus play --resume",
                      run_play, play);
  sub->add_option("--seek", play->seek, "seconds from the recording's begin; +S or -S: from where it is")
      ->check([](const std::string& text) {
        double number = 0;
        char rest = 0;
        return std::sscanf(text.c_str(), "%lf%c", &number, &rest) == 1 ? ""
                                                                       : "'" + text + "' is not a number of seconds";
      });
  sub->add_option("--speed", play->speed, "recorded over real time")->check(number_in(0.001, 1000.0));
  CLI::Option* pause = sub->add_flag("--pause", play->pause, "stand");
  sub->add_flag("--resume", play->resume, "go on")->excludes(pause);
  sub->add_flag("--take-over", play->take_over, "take the lease \"world\" from its holder");
}

void add_measuring(CLI::App& app, Chosen& chosen, const char* program) {
  auto latency = std::make_shared<LatencyOptions>();
  CLI::App* sub =
      add(app, chosen, "latency", "Round trips and state age beside a bare UDP echo of the same rate; moves nothing",
          "  tactus latency\n  tactus latency --lockstep\n  tactus latency --robot arm\n  tactus latency --seconds 30 "
          "--rate-hz 500 --host 10.0.0.2 "
          "--token-file key",
          run_latency, latency);
  sub->add_option("--seconds", latency->seconds, "how long (default 5)")->check(number_in(0.1, 86400.0));
  sub->add_option("--rate-hz", latency->rate_hz, "of each kind of datagram (default 1000)")
      ->check(number_in(1.0, 2000.0));
  sub->add_option("--body", latency->body,
                  "body to send zero wrenches to (default: the first one free); with --lockstep: to subscribe to "
                  "(default: all)");
  sub->add_option("--robot", latency->robot,
                  "control this robot by torques instead, once a tick, beside a ping-pong; it is held where it is");
  CLI::Option* lockstep = sub->add_flag("--lockstep", latency->lockstep,
                                        "measure grants of one tick instead; takes \"world\", and the world advances");
  sub->add_flag("--take-over", latency->take_over, "take the lease \"world\", or the robot's, from its holder");
  lockstep->excludes("--robot");
  sub->add_option("--device", latency->device,
                  "from a haptic device's datagram to the answer of this tool (a free body or robot/link) instead")
      ->excludes("--robot")
      ->excludes("--lockstep");

  auto doctor = std::make_shared<DoctorOptions>();
  doctor->program = program;
  sub =
      add(app, chosen, "doctor", "What this machine lacks for real time, how to grant it, and the room a scene leaves",
          "  tactus doctor\n  tactus doctor --scene config/scenes/pile.toml", run_doctor, doctor);
  sub->add_option("--scene", doctor->scene, "measure with a tactusd of its own on this scene file");
}

int fail(const Common& common, const char* text, int code) {
  if (common.json)
    std::printf("%s\n", Json().open('{').field("ok", false).field("error", text).close('}').text().c_str());
  std::fprintf(stderr, "tactus: %s\n", text);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Talks to a Tactus server: look, push, step, measure. `tactus COMMAND --help` shows examples.",
               "tactus");
  app.footer(
      "Examples:\n  tactus status                        how is the server?\n  tactus watch                         "
      "the beat, live\n"
      "  tactus push crate --force 0,0,-50    push a body down for half a second\n"
      "  tactus doctor                        is this machine fit for 1 kHz?\nExit: 0 success, 1 failed, 2 usage.");
  app.require_subcommand(1);
  Chosen chosen;
  try {
    add_looking(app, chosen);
    add_driving(app, chosen);
    add_model(app, chosen);
    add_world(app, chosen);
    add_play(app, chosen);
    add_recording(app, chosen);
    add_measuring(app, chosen, argv[0]);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return chosen.run(chosen.common);
  } catch (const FlagError& error) {
    return fail(chosen.common, error.what(), 2);
  } catch (const std::exception& error) {
    return fail(chosen.common, error.what(), 1);
  }
}
