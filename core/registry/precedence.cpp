// Precedence: strongly connected components find cycles, whose edges are dropped; the rest is
// closed transitively.
#include "registry/precedence.hpp"

#include <algorithm>
#include <map>

namespace tenon {
namespace {

// Nodes are qualified keys, those of absent kernel types too.
struct Graph {
  std::vector<std::string> names;
  std::map<std::string, std::size_t, std::less<>> ids;
  std::vector<std::vector<std::size_t>> edges;

  std::size_t node(const std::string& name) {
    const auto [at, added] = ids.emplace(name, names.size());
    if (added) {
      names.push_back(name);
      edges.emplace_back();
    }
    return at->second;
  }
};

bool starts_with_plugin(const KernelType& type, std::string_view plugin) {
  return type.plugin->id == plugin;
}

Graph graph_of(const std::vector<std::shared_ptr<const KernelType>>& types) {
  Graph g;
  for (const auto& t : types) g.node(t->qualified);
  std::map<std::string, const KernelType*, std::less<>> by_name;
  for (const auto& t : types) by_name.emplace(t->qualified, t.get());
  const auto add = [&](const KernelType& from, const std::string& to) {
    const auto target = by_name.find(to);
    // A general one ranks below every one that is not, whatever it declares.
    if (target != by_name.end() && from.general() && !target->second->general()) return;
    if (to == from.qualified) return;
    const std::size_t a = g.node(from.qualified);
    const std::size_t b = g.node(to);
    g.edges[a].push_back(b);
  };
  for (const auto& t : types) {
    for (const std::string& over : t->preferred_over) {
      if (over.ends_with(":*")) {
        const std::string_view plugin = std::string_view(over).substr(0, over.size() - 2);
        for (const auto& other : types) {
          if (starts_with_plugin(*other, plugin)) add(*t, other->qualified);
        }
      } else {
        add(*t, over);
      }
    }
  }
  for (auto& out : g.edges) {
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  return g;
}

// reach[i * n + j]: a path of at least one edge leads from i to j.
std::vector<bool> closure(const std::vector<std::vector<std::size_t>>& edges) {
  const std::size_t n = edges.size();
  std::vector<bool> reach(n * n, false);
  std::vector<std::size_t> stack;
  for (std::size_t from = 0; from < n; ++from) {
    stack.assign(edges[from].begin(), edges[from].end());
    while (!stack.empty()) {
      const std::size_t at = stack.back();
      stack.pop_back();
      if (reach[from * n + at]) continue;
      reach[from * n + at] = true;
      stack.insert(stack.end(), edges[at].begin(), edges[at].end());
    }
  }
  return reach;
}

}  // namespace

void order_kernel_types(InterfaceTable& table) {
  const std::size_t n = table.types.size();
  table.beats.assign(n * n, false);
  table.dropped_edges.clear();
  if (std::all_of(table.types.begin(), table.types.end(), [](const auto& t) {
        return t->preferred_over.empty();
      }))
    return;
  Graph g = graph_of(table.types);
  const std::size_t all = g.names.size();
  std::vector<bool> reach = closure(g.edges);
  bool dropped = false;
  for (std::size_t a = 0; a < all; ++a) {
    auto& out = g.edges[a];
    const auto on_cycle = [&](std::size_t b) { return reach[b * all + a]; };
    for (std::size_t b : out) {
      if (on_cycle(b)) table.dropped_edges.push_back(g.names[a] + " > " + g.names[b]);
    }
    const auto kept = std::remove_if(out.begin(), out.end(), on_cycle);
    dropped = dropped || kept != out.end();
    out.erase(kept, out.end());
  }
  if (dropped) reach = closure(g.edges);
  std::sort(table.dropped_edges.begin(), table.dropped_edges.end());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      // The first n nodes are the types themselves, in order.
      table.beats[i * n + j] = i != j && reach[i * all + j];
    }
  }
}

std::string own_cycle(const std::vector<std::shared_ptr<const KernelType>>& types) {
  // Only an edge to a key of the same plugin can be part of a circle here.
  const auto prefers_own = [](const auto& type) {
    const std::string& id = type->plugin->id;
    return std::any_of(
        type->preferred_over.begin(), type->preferred_over.end(), [&](const std::string& over) {
          return over.size() > id.size() && over[id.size()] == ':' && over.starts_with(id);
        });
  };
  if (std::none_of(types.begin(), types.end(), prefers_own)) return {};
  const Graph g = graph_of(types);
  const std::size_t n = g.names.size();
  const std::vector<bool> reach = closure(g.edges);
  std::string text;
  for (std::size_t a = 0; a < n; ++a) {
    if (!reach[a * n + a]) continue;
    text += (text.empty() ? "" : ", ") + g.names[a];
  }
  return text;
}

}  // namespace tenon
