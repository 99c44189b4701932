// The generators that draw: page tables, expert ids, selected blocks and keys.
#include "generators_internal.hpp"

namespace tenon::manifest::detail {
namespace {

std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }

GeneratedTensor filled(std::initializer_list<std::int64_t> shape,
                       std::int64_t elements,
                       std::int64_t value) {
  return GeneratedTensor{Ints(shape), Ints(as_size(elements), value)};
}

}  // namespace

std::int64_t& DistinctSampler::slot(std::int64_t i, bool is_dense) {
  return is_dense ? dense_[as_size(i)] : sparse_.try_emplace(i, i).first->second;
}

void DistinctSampler::sample(Random& random, std::int64_t n, std::span<std::int64_t> into) {
  // Both tables hold the same permutation, so that the numbers drawn do not depend on the choice.
  const bool is_dense = n <= kDenseLimit;
  if (is_dense) {
    for (auto i = static_cast<std::int64_t>(dense_.size()); i < n; ++i) dense_.push_back(i);
  }
  const auto count = static_cast<std::int64_t>(into.size());
  partners_.resize(into.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t j = i + random.below(n - i);
    partners_[as_size(i)] = j;
    std::int64_t& from = slot(j, is_dense);
    into[as_size(i)] = from;
    from = slot(i, is_dense);
    if (is_dense) dense_[as_size(i)] = into[as_size(i)];
  }
  if (!is_dense) {
    sparse_.clear();
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    dense_[as_size(i)] = i;
    dense_[as_size(partners_[as_size(i)])] = partners_[as_size(i)];
  }
}

Result<GeneratedTensor> paged_block_table(const Args& args, Random& random) {
  const std::int64_t batch = args.integer(0);
  const std::int64_t width = args.integer(1);
  const std::int64_t pool = args.integer(2);
  TENON_TRY(args.at_least(0, 0));
  TENON_TRY(args.at_least(1, 1));
  if (width > pool) {
    return args.reject("width is " + std::to_string(width) + ", expected at most pool, " +
                       std::to_string(pool));
  }
  std::int64_t count = 0;
  TENON_TRY_ASSIGN(count, args.elements({batch, width}));
  GeneratedTensor table = filled({batch, width}, count, 0);
  const std::span<std::int64_t> pages(table.values);
  DistinctSampler sampler;
  if (pool >= count) {
    sampler.sample(random, pool, pages);
    return table;
  }
  for (std::int64_t row = 0; row < batch; ++row) {
    sampler.sample(random, pool, pages.subspan(as_size(row * width), as_size(width)));
  }
  return table;
}

Result<GeneratedTensor> nsa_block_indices(const Args& args, Random& random) {
  TENON_TRY(args.items_at_least(0, 1, true));
  for (std::size_t i = 1; i < 4; ++i) TENON_TRY(args.at_least(i, 1));
  const std::int64_t block = args.integer(1);
  const std::int64_t selected = args.integer(2);
  const std::int64_t heads = args.integer(3);
  std::int64_t total = 0;
  TENON_TRY_ASSIGN(total, args.total(0));
  std::int64_t count = 0;
  TENON_TRY_ASSIGN(count, args.elements({total, heads, selected}));
  GeneratedTensor indices = filled({total, heads, selected}, count, total);
  std::span<std::int64_t> rest(indices.values);
  DistinctSampler sampler;
  for (const std::int64_t length : args.seq(0)) {
    for (std::int64_t token = 0; token < length; ++token) {
      const std::int64_t visible = std::max<std::int64_t>(ceil_div(token, block), 1);
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::span<std::int64_t> drawn = rest.first(as_size(std::min(selected, visible)));
        sampler.sample(random, visible, drawn);
        std::sort(drawn.begin(), drawn.end());
        rest = rest.subspan(as_size(selected));
      }
    }
  }
  return indices;
}

Result<GeneratedTensor> nsa_block_counts(const Args& args, Random& random) {
  for (std::size_t i = 0; i < 3; ++i) TENON_TRY(args.at_least(i, 1));
  std::int64_t count = 0;
  TENON_TRY_ASSIGN(count, args.elements({args.integer(0), args.integer(1)}));
  GeneratedTensor counts = filled({args.integer(0), args.integer(1)}, count, 0);
  for (std::int64_t& value : counts.values) value = 1 + random.below(args.integer(2));
  return counts;
}

Result<GeneratedTensor> topk_ids(const Args& args, Random& random) {
  const std::int64_t rows = args.integer(0);
  const std::int64_t k = args.integer(1);
  const std::int64_t experts = args.integer(2);
  TENON_TRY(args.at_least(0, 0));
  TENON_TRY(args.at_least(1, 1));
  if (k > experts) {
    return args.reject("k is " + std::to_string(k) + ", expected at most experts, " +
                       std::to_string(experts));
  }
  std::int64_t count = 0;
  TENON_TRY_ASSIGN(count, args.elements({rows, k}));
  GeneratedTensor ids = filled({rows, k}, count, 0);
  DistinctSampler sampler;
  for (std::int64_t row = 0; row < rows; ++row) {
    sampler.sample(random, experts, std::span(ids.values).subspan(as_size(row * k), as_size(k)));
  }
  return ids;
}

Result<GeneratedTensor> random_ids(const Args& args, Random& random) {
  for (std::size_t i = 0; i < 3; ++i) TENON_TRY(args.at_least(i, 1));
  std::int64_t count = 0;
  TENON_TRY_ASSIGN(count, args.elements({args.integer(0), args.integer(1)}));
  GeneratedTensor ids = filled({args.integer(0), args.integer(1)}, count, 0);
  for (std::int64_t& value : ids.values) value = random.below(args.integer(2));
  return ids;
}

Result<GeneratedTensor> sample_indices(const Args& args, Random& random) {
  const std::int64_t n = args.integer(0);
  TENON_TRY(args.at_least(0, 0));
  if (n > args.integer(1)) {
    return args.reject("n is " + std::to_string(n) + ", expected at most hi, " +
                       std::to_string(args.integer(1)));
  }
  TENON_TRY(args.elements({n}));
  GeneratedTensor indices = filled({n}, n, 0);
  DistinctSampler().sample(random, args.integer(1), indices.values);
  return indices;
}

Result<GeneratedTensor> causal_topk_indices(const Args& args, Random& random) {
  for (std::size_t i = 0; i < 7; ++i) TENON_TRY(args.at_least(i, i == 5 ? 0 : 1));
  const std::int64_t batch = args.integer(0);
  const std::int64_t tokens = args.integer(1);
  const std::int64_t heads = args.integer(2);
  const std::int64_t k = args.integer(3);
  const std::int64_t extent = args.integer(4);
  const std::int64_t start = args.integer(5);
  const std::int64_t stride = args.integer(6);
  std::int64_t count = 0;
  TENON_TRY_ASSIGN(count, args.elements({batch, tokens, heads, k}));
  if (start > std::numeric_limits<std::int64_t>::max() - tokens) {
    return args.reject("start is " + std::to_string(start) +
                       ", expected that start + tokens fits 64 bits");
  }
  GeneratedTensor indices = filled({batch, tokens, heads, k}, count, extent);
  std::span<std::int64_t> rest(indices.values);
  DistinctSampler sampler;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t visible =
          std::min(std::max<std::int64_t>(1, (token + start) / stride), extent);
      for (std::int64_t head = 0; head < heads; ++head) {
        sampler.sample(random, visible, rest.first(as_size(std::min(k, visible))));
        rest = rest.subspan(as_size(k));
      }
    }
  }
  return indices;
}

Result<GeneratedTensor> sparse_topk_positions(const Args& args, Random& random) {
  TENON_TRY(args.at_least(1, 1));
  TENON_TRY(args.at_least(2, 1));
  TENON_TRY(args.items_at_least(0, args.integer(1), false));
  const auto sequences = static_cast<std::int64_t>(args.seq(0).size());
  const std::int64_t queries = args.integer(1);
  const std::int64_t k = args.integer(2);
  std::int64_t count = 0;
  TENON_TRY_ASSIGN(count, args.elements({sequences, queries, k}));
  GeneratedTensor positions = filled({sequences, queries, k}, count, -1);
  std::span<std::int64_t> rest(positions.values);
  DistinctSampler sampler;
  for (const std::int64_t length : args.seq(0)) {
    for (std::int64_t query = 0; query < queries; ++query) {
      const std::int64_t visible = length - queries + query + 1;
      sampler.sample(random, visible, rest.first(as_size(std::min(k, visible))));
      rest = rest.subspan(as_size(k));
    }
  }
  return positions;
}

}  // namespace tenon::manifest::detail
