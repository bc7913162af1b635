//! Whether a schema requires a property: where it is sure of it, through references and combinations.

use super::graph::{Graph, Kinds, NodeId};
use super::limits;

pub(super) fn requires(graph: &Graph, path: &[&str]) -> bool {
    let mut question = Question {
        graph,
        left: limits::REQUIRES_MAX,
    };
    !path.is_empty() && question.requires(NodeId::ROOT, path, 0)
}

struct Question<'a> {
    graph: &'a Graph,
    left: u32,
}

impl Question<'_> {
    fn requires(&mut self, id: NodeId, path: &[&str], depth: u32) -> bool {
        // A schema may lead back to itself here; what cannot be told is not required.
        if self.left == 0 || depth > limits::CHAIN_MAX {
            return false;
        }
        self.left -= 1;
        let node = self.graph.node(id);
        if let [name] = path
            && node.required.iter().any(|required| required == name)
        {
            return true;
        }
        if let [name, rest @ ..] = path
            && !rest.is_empty()
        {
            let named = node.properties.get(*name).copied();
            if named
                .or(node.additional)
                .is_some_and(|below| self.requires(below, rest, 0))
            {
                return true;
            }
        }
        node.items
            .is_some_and(|id| self.requires(id, path, depth + 1))
            || (node.all.iter()).any(|id| self.requires(*id, path, depth + 1))
            || (node.choices.iter()).any(|branches| self.all_require(branches, path, depth))
    }

    /// Branches that admit no container have no properties to speak of.
    fn all_require(&mut self, branches: &[NodeId], path: &[&str], depth: u32) -> bool {
        let mut some = false;
        for id in branches {
            let kinds = self.graph.node(*id).kinds;
            if !kinds.holds(Kinds::OBJECT) && !kinds.holds(Kinds::ARRAY) {
                continue;
            }
            some = true;
            if !self.requires(*id, path, depth + 1) {
                return false;
            }
        }
        some
    }
}
