#include "toroid/train/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <tuple>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

CheckpointInfo info_of(std::int64_t step) {
  CheckpointInfo info;
  info.step = step;
  return info;
}

std::vector<NamedTensor> state(float value) {
  return {{"dense/kernel", Tensor::of<float>({2}, {value, -value})},
          {"dense/kernel/momentum", Tensor::of<float>({2}, {value / 2, 0.0F})}};
}

void save(const TemporaryFolder& run, std::int64_t step, int keep = 10) {
  save_checkpoint(run.path(), info_of(step), state(static_cast<float>(step)), keep);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> listed(const TemporaryFolder& run) {
  std::vector<std::string> names;
  for (const fs::path& path : list_checkpoints(run.path())) names.push_back(path.filename());
  return names;
}

using Names = std::vector<std::string>;

TEST(Checkpoint, ComesBackWithEveryFieldAndTensor) {
  const TemporaryFolder run;
  const CheckpointInfo info{.step = 1234567,
                            .epoch = 3,
                            .batches_done = 17,
                            .seed = 18446744073709551615U,
                            .world_size = 4,
                            .global_batch = 256,
                            .recipe = "[model]\nname = \"x\"\n",
                            .metrics = {{"top1", 1.0 / 3}, {"loss", std::nan("")}},
                            .best = BestEvaluation{1000, {{"top1", 0.5}}}};
  save_checkpoint(run.path(), info, state(1.5F), 1);
  const Checkpoint again = load_newest(run.path()).value();
  EXPECT_EQ(again.path, run / "step-1234567");
  const auto numbers = [](const CheckpointInfo& i) {
    return std::tuple(i.step, i.epoch, i.batches_done, i.seed, i.world_size, i.global_batch);
  };
  EXPECT_EQ(numbers(again.info), numbers(info));
  EXPECT_EQ(again.info.recipe, info.recipe);
  EXPECT_EQ(again.info.metrics.at("top1"), 1.0 / 3);
  EXPECT_TRUE(std::isnan(again.info.metrics.at("loss")));
  EXPECT_EQ(again.info.best, info.best);
  ASSERT_EQ(again.tensors.size(), 2U);
  EXPECT_EQ(again.tensors[1].name, "dense/kernel/momentum");
  EXPECT_TRUE(again.tensors[1].tensor.identical(state(1.5F)[1].tensor));
}

TEST(Checkpoint, TheDescriptionIsWrittenAsDocumented) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), info_of(7), {}, 1);
  EXPECT_EQ(names_in(run / "step-000007"), (Names{"checkpoint.json", "state.safetensors"}));
  EXPECT_EQ(read_file(run / "step-000007/checkpoint.json"), R"({
  "format": "toroid checkpoint",
  "version": 1,
  "step": 7,
  "epoch": 0,
  "batches_done": 0,
  "seed": 0,
  "world_size": 1,
  "global_batch": 0,
  "metrics": {},
  "state": {
    "bytes": 16,
    "crc32c": "6eeedad3"
  },
  "recipe": ""
}
)");
}

TEST(Checkpoint, TheOrderIsThatOfTheStepsNotOfTheNames) {
  const TemporaryFolder run;
  for (const std::int64_t step : {1000000, 9, 100, 10}) save(run, step);
  fs::rename(run / "step-000100", run / "step-0000000100");  // another padding
  fs::create_directory(run / "step-best");
  fs::create_directory(run / "step-000500");  // no checkpoint in it
  write_file(run / "step-000600", "a file");
  EXPECT_EQ(listed(run), (Names{"step-000009", "step-000010", "step-0000000100", "step-1000000"}));
  EXPECT_EQ(load_newest(run.path())->info.step, 1000000);
}

TEST(Checkpoint, TheNewestOnesStayAndTheBest) {
  const TemporaryFolder run;
  for (std::int64_t step = 1; step <= 6; ++step) {
    CheckpointInfo info = info_of(step);
    if (step >= 2) info.best = BestEvaluation{2, {}};
    save_checkpoint(run.path(), info, state(1), 2);
  }
  EXPECT_EQ(names_in(run.path()), (Names{"step-000002", "step-000005", "step-000006"}));
}

TEST(Checkpoint, TheOneJustSavedStaysEvenBelowOlderRunsSteps) {
  const TemporaryFolder run;
  save(run, 500);
  save(run, 10, 1);
  EXPECT_EQ(listed(run), (Names{"step-000010", "step-000500"}));
}

TEST(Checkpoint, NothingForeignIsRemoved) {
  const TemporaryFolder run;
  write_file(run / "recipe.toml", "");
  for (const char* name : {"step-best", "step-000001-copy", ".step-000001.tmp", ".step-x.tmp12",
                           ".stepping.old12", "step-000002"}) {
    fs::create_directory(run / name);
    write_file(run.path() / name / "mine", "");
  }
  save(run, 3);
  write_file(run / "step-000003/notes.txt", "");
  Names wanted = names_in(run.path());
  save(run, 4, 1);
  wanted.insert(std::find(wanted.begin(), wanted.end(), "step-000003") + 1, "step-000004");
  EXPECT_EQ(names_in(run.path()), wanted);
}

TEST(Checkpoint, ADamagedOneIsPassedOverWithAWarningThatNamesIt) {
  const TemporaryFolder run;
  for (const std::int64_t step : {1, 2, 3, 4}) save(run, step);
  {  // one bit of one element
    std::fstream file(run / "step-000004/state.safetensors", std::ios::in | std::ios::out);
    file.seekp(-1, std::ios::end);
    file.put('\1');
  }
  fs::resize_file(run / "step-000003/state.safetensors", 50);
  write_file(run / "step-000002/checkpoint.json", "{\"format\":");
  testing::internal::CaptureStderr();
  EXPECT_EQ(load_newest(run.path())->info.step, 1);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("step-000004/state.safetensors: CRC-32C "), std::string::npos) << text;
  EXPECT_NE(text.find("step-000003/state.safetensors: has 50 bytes, but"), std::string::npos);
  EXPECT_NE(text.find("step-000002/checkpoint.json: not a checkpoint's description"),
            std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST(Checkpoint, WithoutAnyTheRunStartsButWithOnlyDamagedOnesItStops) {
  const TemporaryFolder run;
  EXPECT_FALSE(load_newest(run.path()).has_value());
  EXPECT_FALSE(load_newest(run / "none").has_value());
  save(run, 1);
  fs::remove(run / "step-000001/state.safetensors");
  EXPECT_ERROR(load_newest(run.path()), "none of its 1 checkpoints is intact");
}

TEST(Checkpoint, ADamagedOneIsReplacedWhenItsStepIsReachedAgain) {
  const TemporaryFolder run;
  save(run, 5);
  write_file(run / "step-000005/checkpoint.json", "");
  save(run, 5);
  EXPECT_EQ(load_checkpoint(run / "step-000005").info.step, 5);
  EXPECT_EQ(names_in(run.path()), Names{"step-000005"});
}

TEST(Checkpoint, DamagedOnesDoNotPushOutTheLastIntactOne) {
  const TemporaryFolder run;
  save(run, 1);
  save(run, 2);
  write_file(run / "step-000002/checkpoint.json", "");
  save(run, 3, 2);
  EXPECT_EQ(listed(run), (Names{"step-000001", "step-000002", "step-000003"}));
  save(run, 4, 2);
  EXPECT_EQ(listed(run), (Names{"step-000003", "step-000004"}));
}

TEST(Checkpoint, WhatAKilledSaveLeftIsRemovedByTheNextOne) {
  const TemporaryFolder run;
  for (const char* name : {".step-000001.tmp99", ".step-000002.old7"}) {
    fs::create_directory(run / name);
    write_file(run.path() / name / "state.safetensors", "half");
  }
  EXPECT_TRUE(listed(run).empty());
  save(run, 3);
  EXPECT_EQ(names_in(run.path()), Names{"step-000003"});
}

TEST(Checkpoint, AFolderOfAnotherKindUnderTheNameIsAnErrorAndStays) {
  const TemporaryFolder run;
  fs::create_directory(run / "step-000001");
  write_file(run / "step-000001/mine", "");
  EXPECT_ERROR(save(run, 1), "/step-000001: is there already and holds other files");
  EXPECT_EQ(names_in(run.path()), Names{"step-000001"});
}

TEST(Checkpoint, AKillAtAnyTimeLeavesAnIntactOne) {
  const TemporaryFolder run;
  save(run, 1, 1);
  const std::vector<NamedTensor> large = {{"w", Tensor(DType::f32, {1 << 18})}};
  std::int64_t step = 1;
  for (int delay_ms = 1; delay_ms <= 30; delay_ms += 3) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::int64_t next = step + 1;; ++next) {
        save_checkpoint(run.path(), info_of(next), large, 1);
      }
    }
    ::usleep(static_cast<useconds_t>(delay_ms * 1000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    testing::internal::CaptureStderr();
    const std::int64_t found = load_newest(run.path()).value().info.step;
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_GE(found, step);
    step = found;
  }
  save(run, step + 1, 1);
  EXPECT_EQ(names_in(run.path()), Names{fmt::format("step-{:06}", step + 1)});
}

TEST(Checkpoint, ADiskThatFillsUpLeavesTheOlderOnesAndNothingElse) {
  const TemporaryFolder run;
  save(run, 1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of([&] { save(run, 2, 1); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(message.starts_with("cannot save the checkpoint of step 2: ")) << message;
  EXPECT_NE(message.find("File too large (older checkpoints are as they were)"), std::string::npos);
  EXPECT_EQ(names_in(run.path()), Names{"step-000001"});
  EXPECT_EQ(load_newest(run.path())->info.step, 1);
}

TEST(Checkpoint, AMissingOrWrongKeyIsNamed) {
  const TemporaryFolder run;
  save(run, 1);
  const fs::path path = run / "step-000001/checkpoint.json";
  const std::string text = read_file(path);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    write_file(path, changed);
    return error_of([&] { load_checkpoint(run / "step-000001"); });
  };
  const auto ends = [](const std::string& message, const std::string& end) {
    EXPECT_TRUE(message.ends_with(end)) << message;
  };
  ends(with("\"epoch\"", "\"epoc\""),
       "/checkpoint.json: not a checkpoint's description: "
       "\"epoch\" is missing");
  ends(with("\"step\": 1", "\"step\": -1"), "\"step\" is not a whole number in range");
  ends(with("\"world_size\": 1", "\"world_size\": 4294967297"),
       "\"world_size\" is not a whole number in range");
  ends(with("\"version\": 1", "\"version\": 2"),
       "version 2 of the format; this program reads version 1");
  ends(with("\"metrics\": {}", "\"metrics\": {\"a\": \"x\"}"), "the metric \"a\" is not a number");
  ends(with("toroid checkpoint", "other"), "\"format\" is not \"toroid checkpoint\"");
}

TEST(Checkpoint, TensorsAreReadFromARunACheckpointOrAFile) {
  const TemporaryFolder run;
  EXPECT_ERROR(read_tensors(run.path()), "neither a checkpoint nor a run with one");
  EXPECT_ERROR(read_tensors(run / "none"), "/none: cannot open");
  save(run, 1);
  save(run, 2);
  const auto first = [&](const fs::path& path) {
    return read_tensors(path).at(0).tensor.values<float>()[0];
  };
  EXPECT_EQ(first(run.path()), 2.0F);
  EXPECT_EQ(first(run / "step-000001"), 1.0F);
  EXPECT_EQ(first(run / "step-000001/state.safetensors"), 1.0F);
}

}  // namespace
}  // namespace toroid
